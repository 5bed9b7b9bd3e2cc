/** How requests for operations are recognized. Without the capability that reads them, they're refused. */
import { OPERATION_METHOD, type Path, pathOf } from "../request.ts";

export const MCP_MISSING = "Write `mcp: mcpOperations()`, imported from scopegate/mcp.";
export const BATCHES_MISSING = "Write `batches: trpcBatches()`, imported from scopegate/trpc.";

/** Returns whether a request is for an operation. A path begins with a slash or a scheme, without a space. */
export const isOperation = (method: string, target: string): boolean =>
  method === OPERATION_METHOD && /^(?:(?!https?:)[a-z]|\/\S* )/i.test(target);

/**
 * Returns whether a request may call several operations under one path, as tRPC's batches do:
 * `/trpc/get,remove?batch=1`. The rule for `/trpc/:procedure` alone must not decide, because `remove` may
 * have its own rule. Of several values of `batch`, any counts. `%25%32%43` may be decoded to a comma later.
 */
export const isBatch = (target: string, path: Path): boolean =>
  /,|%2[5c]/i.test(path.text.slice(0, path.end)) && BATCH_QUERY.test(target.slice(pathOf(target).length));

/** `batch=1` with any of its characters percent-encoded: reading the whole query would take longer. */
const BATCH_QUERY = /(?:^\?|&)(?:b|%62)(?:a|%61)(?:t|%74)(?:c|%63)(?:h|%68)=(?:1|%31)(?=&|$)/;
