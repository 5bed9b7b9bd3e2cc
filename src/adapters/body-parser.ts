/** Warns of a body parser in front of the guard. */
import { createWarning } from "../runtime/warn-once.ts";
import { type NodeRequest } from "./node-request.ts";

/** Creates the function that a guard calls for a request whose body is already parsed. It warns once. */
export function createBodyWarning(): (raw: NodeRequest) => void {
  const warn = createWarning(
    "A body parser runs in front of protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) in front of the parser.",
  );
  return ({ headers }) => {
    // Some parsers set a body on every request, even on one that has none (RFC 9112 section 6).
    if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0) warn();
  };
}
