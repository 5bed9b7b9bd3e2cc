import { type Refusal } from "../response/refusal.ts";

/** The part of Node's response, which Express's is as well, that a refusal is written to. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Where somebody has answered already, a timeout for one, there is nothing left to say. */
export function send(response: NodeResponse, { status, headers, body }: Refusal): void {
  if (response.headersSent) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(JSON.stringify(body));
}
