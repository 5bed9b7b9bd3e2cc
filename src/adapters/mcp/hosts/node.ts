/** The frameworks on Node's request and response: Express, Koa and Fastify. */
import { type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import onHeaders from "on-headers";
import { readNodeBody, readNodeHeader } from "../../shared/body.ts";
import { checkFirst } from "../../shared/check-first.ts";
import { editBody } from "../../shared/edit-body.ts";
import { protect as protectExpress } from "../../express/index.ts";
import { type ExpressRequest, readMethod } from "../../express/request.ts";
import { type FastifyInstance, protect as protectFastify } from "../../fastify/index.ts";
import { type FastifyReply, send as sendReply } from "../../fastify/reply.ts";
import { proceed } from "../../koa/context.ts";
import { type KoaContext, protect as protectKoa } from "../../koa/index.ts";
import { send } from "../../shared/node-response.ts";
import { type ResourceServer } from "../../../core/server.ts";
import { type Answer } from "../../../core/response/refusal.ts";
import { type Exchange, type Gate, isPassed, type Passed } from "../gate.ts";
import { SESSION_FIELD } from "../sessions.ts";

/** Node's request, with the caller where the official SDK reads it. */
type NodeRequest = IncomingMessage & { auth?: object | undefined };

interface Target {
  readonly raw: NodeRequest;
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
const passOn = (outcome: Passed | Answer, { raw, response, use }: Target): Answer | undefined => {
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
};

/** Express's request; `_body` keeps the parsers of body-parser 1 from reading again. */
type ExpressMessage = NodeRequest & ExpressRequest & { body?: unknown; _body?: boolean };

/** Creates a middleware of Express: the body is `req.body`, and the caller `req.auth`. */
export function createExpressGate(server: ResourceServer, gate: Gate) {
  const guard = protectExpress(server);
  return (request: ExpressMessage, response: ServerResponse, next: (fault?: unknown) => void): void => {
    const use = ({ body }: Passed) => body && Object.assign(request, { body, _body: true });
    const check = async () => {
      const outcome = await gate(exchangeOf(request, readMethod(request), request.body));
      return passOn(outcome, { raw: request, response, use });
    };
    const refuse = (answer: Answer) => send(response, answer);
    guard(request, response, (error) =>
      error === undefined ? checkFirst(check, { refuse, next }) : next(error),
    );
  };
}

/** Creates a middleware of Koa: the body is `ctx.request.body`, and the caller `ctx.req.auth`. */
export function createKoaGate(server: ResourceServer, gate: Gate) {
  const guard = protectKoa(server);
  return (context: KoaContext & { res: ServerResponse }, next: () => Promise<unknown>): Promise<void> =>
    guard(context, async () => {
      const { req: raw, res: response } = context as typeof context & { readonly req: NodeRequest };
      const request = context.request as { body?: unknown };
      const outcome = await gate(exchangeOf(raw, context.method.toUpperCase(), request.body));
      const use = ({ body }: Passed) => body && Object.assign(request, { body });
      await proceed(context, passOn(outcome, { raw, response, use }), next);
    });
}

type Done = (fault?: Error | null, body?: Readable) => void;
type Hook = (
  request: { readonly raw: NodeRequest; readonly method: string },
  reply: FastifyReply & { readonly raw: ServerResponse },
  body: Readable,
  done: Done,
) => void;
type Instance = FastifyInstance & { addHook(name: "preParsing", hook: Hook): unknown };

/** Creates a plugin of Fastify: the body is `request.body`, and the caller `request.raw.auth`. */
export function createFastifyGate(server: ResourceServer, gate: Gate) {
  const plugin = protectFastify(server);
  const hook: Hook = ({ raw, method }, reply, payload, done) => {
    let body = payload;
    const use = ({ bytes }: Passed): void => {
      // Fastify's own parser reads the body that was checked, and compares its length with `Content-Length`.
      if (bytes) body = Object.assign(Readable.from([bytes]), { receivedEncodedLength: bytes.length });
    };
    const check = async () => {
      const outcome = await gate(exchangeOf(raw, method, undefined));
      return passOn(outcome, { raw, response: reply.raw, use });
    };
    checkFirst(check, {
      refuse: (answer) => sendReply(reply, answer),
      next: (error) => done(error ?? null, body),
    });
  };
  return (instance: Instance, options: object, done: (fault?: Error) => void): void =>
    plugin(instance, options, (fault) => {
      instance.addHook("preParsing", hook);
      done(fault);
    });
}
