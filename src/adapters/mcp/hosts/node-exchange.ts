/** What the frameworks on Node's request and response share: Express, Koa and Fastify. */
import type { IncomingMessage, ServerResponse } from "node:http";
import onHeaders from "on-headers";
import type { Answer } from "../../../core/response/refusal.ts";
import { readNodeBody, readNodeHeader } from "../body.ts";
import { type Exchange, isPassed, type Passed } from "../gate.ts";
import { SESSION_FIELD } from "../sessions.ts";
import { editBody } from "./edit-body.ts";

/** Node's request, with the caller where the official SDK reads it. */
export type NodeMessage = IncomingMessage & { auth?: object | undefined };

interface Target {
  readonly raw: NodeMessage;
  readonly response: ServerResponse;
  readonly use: (passed: Passed) => unknown;
}

/** `parsed` is the body, if an earlier parser has parsed it. */
export const exchangeOf = (raw: IncomingMessage, method: string, parsed: unknown): Exchange => ({
  raw,
  method,
  header: (name) => readNodeHeader(raw, name),
  isEmpty: () => (raw as { stream?: { endAfterHeaders?: boolean } }).stream?.endAfterHeaders !== false,
  body: (limits) => (raw.readableDidRead ? { parsed } : readNodeBody(raw, limits)),
});

/** Passes the caller and the body on, and watches the response; or returns the answer of a refusal. */
export function passOn(outcome: Passed | Answer, { raw, response, use }: Target): Answer | undefined {
  if (!isPassed(outcome)) return outcome;
  const { authInfo, respond, filter } = outcome;
  raw.auth = authInfo;
  use(outcome);
  if (filter) editBody(response, filter);
  if (respond)
    onHeaders(response, function () {
      const id = this.getHeader(SESSION_FIELD);
      respond(this.statusCode, typeof id === "string" ? id : undefined);
    });
  return undefined;
}
