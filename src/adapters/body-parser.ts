/** Warns of a body parser in front of the guard. */
import { type NodeRequest } from "./node-request.ts";

/** Creates the function that a guard calls for a request whose body is already parsed. It warns once. */
export function createBodyWarning(): (raw: NodeRequest) => void {
  let hasWarned = false;
  return (raw) => {
    // Some parsers set a body on every request, even on one that has none.
    if (hasWarned || !hasBody(raw)) return;
    hasWarned = true;
    process.emitWarning(
      "A body parser runs in front of protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) in front of the parser.",
      "ScopegateWarning",
    );
  };
}

/** RFC 9112 section 6. */
function hasBody({ headers }: NodeRequest): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...headers };
  return fields["transfer-encoding"] !== undefined || Number(fields["content-length"] ?? 0) > 0;
}
