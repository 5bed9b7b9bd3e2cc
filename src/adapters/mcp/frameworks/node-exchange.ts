/** What the frameworks on Node's request and response share: Express, Koa and Fastify. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "../../../core/response/refusal.ts";
import { andThen } from "../../../core/runtime/and-then.ts";
import type { Pending } from "../../../core/runtime/pending.ts";
import { type BodyLimits, readBody, type ReadBody, type Sink } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import { type Gate, isPassed, type Passed } from "../gate.ts";
import { ResponseWatch } from "../responses.ts";
import { watchResponse } from "./node-response.ts";

/** Node's request, with the caller where the official SDK reads it. */
export type NodeMessage = IncomingMessage & { auth?: object | undefined };

/** A request, as its framework represents it. */
interface NodeCall {
  readonly raw: NodeMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** The body, if an earlier parser has parsed it. */
  readonly parsed?: unknown;
  /** Stores the body where the handlers of the framework find it. */
  readonly storeBody: (passed: Passed) => unknown;
}

/**
 * Checks a request. If it's allowed, passes on the caller and the body, and watches the response; if not,
 * returns the response of the refusal.
 */
export const checkCall = (
  gate: Gate,
  { raw, response, method, parsed, storeBody }: NodeCall,
): Pending<HttpResponse | undefined> =>
  andThen(gate(exchangeOf(raw, method, parsed)), (outcome) => {
    if (!isPassed(outcome)) return outcome;
    raw.auth = outcome.authInfo;
    for (const [name, value] of Object.entries(outcome.headers ?? {})) replaceField(raw, name, value);
    // The stream has ended. Version 1 of the SDK reads the body here, if a handler doesn't pass it.
    if (outcome.bytes) (raw as { rawBody?: unknown }).rawBody = outcome.bytes;
    storeBody(outcome);
    watchResponse(response, new ResponseWatch(outcome));
    return undefined;
  });

/** Replaces a header field that the request has, for handlers that read either form of it. */
function replaceField({ headers, rawHeaders }: IncomingMessage, name: string, value: string): void {
  headers[name] = value;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === name) rawHeaders[index + 1] = value;
}

export function exchangeOf(raw: IncomingMessage, method: string, parsed: unknown): Exchange {
  const { headers } = raw;
  return {
    raw,
    method,
    fields: () => Object.keys(headers),
    header: (name) => readHeader(headers, name),
    isEmpty: () => (raw as { stream?: { endAfterHeaders?: boolean } }).stream?.endAfterHeaders !== false,
    body: (limits) => (raw.readableDidRead ? { parsed } : readNodeBody(raw, limits)),
  };
}

/** Reads a header field of Node's request. Only an own property: a polluted prototype must not add one. */
function readHeader(headers: IncomingMessage["headers"], name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * Reads the body of Node's request to its end, even after all of it has arrived: a proxy behind the guard
 * would otherwise send the request without its body. After a refusal, Node.js closes the connection.
 */
function readNodeBody(raw: IncomingMessage, limits: BodyLimits): Promise<ReadBody> {
  const announced = Number(readHeader(raw.headers, "content-length") ?? 0);
  const start = ({ add, end, fail }: Sink): void => {
    const read = (chunk: Buffer | string): void => {
      if (!add(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) raw.off("data", read).pause();
    };
    raw.on("data", read).once("end", end).once("error", fail).once("close", fail);
    if (raw.destroyed) fail();
  };
  return readBody(start, limits, announced);
}
