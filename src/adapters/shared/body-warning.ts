import { createWarning } from "../../core/runtime/warn-once.ts";
import type { NodeRequest } from "./node-request.ts";

/** Creates the function that a guard calls for a request whose body is already parsed. It warns once. */
export function createBodyWarning(): (raw: NodeRequest) => void {
  const warn = createWarning(
    "A body parser runs before protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) before the parser.",
  );
  return ({ headers }) => {
    // Some parsers set a body even for a request that has none (RFC 9112 section 6).
    if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0) warn();
  };
}
