import type { ServerResponse } from "node:http";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { renderBody } from "../../core/response/rendered-body.ts";

/** The part of Node's response that a refusal is written to: what `node:http` and `node:http2` share. */
export interface NodeResponse extends Pick<ServerResponse, "statusCode" | "headersSent"> {
  /** Sets one header field. */
  setHeader(name: string, value: string): unknown;
  /** Adds a header field to those with the same name. Older types of Node.js don't declare it. */
  appendHeader?(name: string, value: string): unknown;
  /** Sends the body and ends the response. */
  end(body: string): unknown;
}

/** Does nothing if a response was already sent, for example by a timeout. */
export function send(response: NodeResponse, { status, headers, body }: HttpResponse): void {
  if (response.headersSent) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers))
    if (name === CHALLENGE_FIELD && response.appendHeader) response.appendHeader(name, value);
    else response.setHeader(name, value);
  response.end(renderBody(body));
}
