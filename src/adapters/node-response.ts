import { type Refusal } from "../response/refusal.ts";
import { renderBody } from "../response/rendered-body.ts";

/** The part of Node's response, which Express's is as well, that a refusal is written to. */
export interface NodeResponse {
  /** Set before the body is sent. */
  statusCode: number;
  /** Whether somebody has answered already. */
  readonly headersSent: boolean;
  /** Sets one header field. */
  setHeader(name: string, value: string): unknown;
  /** Sends the body and ends the response. */
  end(body: string): unknown;
}

/** Where somebody has answered already, a timeout for one, there is nothing left to say. */
export function send(response: NodeResponse, { status, headers, body }: Refusal): void {
  if (response.headersSent) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(renderBody(body));
}
