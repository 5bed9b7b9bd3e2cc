/** What the frameworks on Node's request and response share: Express, Koa and Fastify. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "../../../core/response/refusal.ts";
import { readNodeBody, readNodeHeader } from "../body.ts";
import { type Exchange, isPassed, type Passed } from "../gate.ts";
import { watchResponse } from "./node-response.ts";

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
  fields: () => Object.keys(raw.headers),
  header: (name) => readNodeHeader(raw, name),
  isEmpty: () => (raw as { stream?: { endAfterHeaders?: boolean } }).stream?.endAfterHeaders !== false,
  body: (limits) => (raw.readableDidRead ? { parsed } : readNodeBody(raw, limits)),
});

/** Passes on the caller and the body, and watches the response; or returns the response of a refusal. */
export function passOn(
  outcome: Passed | HttpResponse,
  { raw, response, use }: Target,
): HttpResponse | undefined {
  if (!isPassed(outcome)) return outcome;
  raw.auth = outcome.authInfo;
  // The stream has ended. Version 1 of the SDK reads the body here, if a handler doesn't pass it.
  if (outcome.bytes) Object.assign(raw, { rawBody: outcome.bytes });
  use(outcome);
  watchResponse(response, outcome.watch);
  return undefined;
}
