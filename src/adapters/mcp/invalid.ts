/** Requests that aren't messages of the protocol, and the fixed response to each. */
import type { HttpResponse } from "../../core/response/refusal.ts";
import { compact } from "../../core/runtime/compact.ts";

export interface Invalid extends HttpResponse {
  readonly kind: "invalid";
  readonly body: { readonly id: string | number | null; readonly error: { readonly message: string } };
}

/** `isUnread` closes the connection, because the body wasn't read to its end. */
const invalid = (status: number, code: number, message: string, isUnread = false): Invalid =>
  Object.freeze({
    kind: "invalid",
    status,
    headers: Object.freeze({
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      ...compact({ Connection: isUnread ? "close" : undefined }),
    }),
    body: Object.freeze({ jsonrpc: "2.0", id: null, error: Object.freeze({ code, message }) }),
  });

/** Codes of JSON-RPC 2.0, section 5.1; -32020 is `HeaderMismatch`, and -32001 what the official SDK sends. */
export const INVALID = {
  syntax: invalid(400, -32700, "The body must be JSON in UTF-8, without a property that occurs twice."),
  message: invalid(
    400,
    -32600,
    "The body must be a JSON-RPC 2.0 message, or an array of up to 100 with up to 32 subscriptions.",
  ),
  name: invalid(
    400,
    -32602,
    "The name of a tool, prompt or resource must be a string that is not empty, and a URI at most 8192 characters long.",
  ),
  spelling: invalid(400, -32600, "The properties of a message must be spelled as the protocol spells them."),
  header: invalid(400, -32020, "The headers Mcp-Method, Mcp-Name and Mcp-Param-* must agree with the body."),
  method: invalid(404, -32601, "Method not found."),
  // Not 404, which ends a session: clients treat an unknown task as an error of the protocol.
  task: invalid(200, -32602, "Task not found."),
  session: invalid(404, -32001, "Session not found."),
  tooSlow: invalid(408, -32600, "The body was not received in time.", true),
  tooLarge: invalid(413, -32600, "The body is too large.", true),
  unknownOwner: invalid(503, -32603, "It is not known who started the session or task. Try again later."),
  type: invalid(415, -32600, "The Content-Type must be application/json, without a Content-Encoding.", true),
} as const;

/** Adds the id of the request to an error. */
export const withId = (invalid: Invalid, id: string | number | undefined): Invalid =>
  id === undefined ? invalid : { ...invalid, body: { ...invalid.body, id } };
