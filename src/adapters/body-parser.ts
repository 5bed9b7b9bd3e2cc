/** Tells of a body parser in front of the guard. */
import { type NodeRequest } from "./node-request.ts";

/** What a guard calls where a request that it has not decided yet has a parsed body: it warns once. */
export function createBodyWarning(): (raw: NodeRequest) => void {
  let isTold = false;
  return (raw) => {
    // Some parsers give every request a body, those without one included.
    if (isTold || !hasBody(raw)) return;
    isTold = true;
    process.emitWarning(
      "A body parser runs in front of protect: the bodies of callers nobody knows are read and parsed before they are refused. Move app.use(protect(server)) in front of the parser.",
      "ScopegateWarning",
    );
  };
}

/** RFC 9112 section 6. */
function hasBody({ headers }: NodeRequest): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...headers };
  return fields["transfer-encoding"] !== undefined || Number(fields["content-length"] ?? 0) > 0;
}
