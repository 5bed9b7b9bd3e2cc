/** Checks a request after `protect`: its session, its body and its operations. */
import { type BodyLimits, hasBody, isJson, type ReadBody, type ReadHeader } from "./body.ts";
import { guardOperations, type PendingRefusal, verdictOf } from "../shared/guard.ts";
import { checkOptions, flag, type OptionChecks, wholeNumber } from "../../core/options/check-options.ts";
import type { Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/server.ts";
import type { Answer } from "../../core/response/refusal.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { type AuthInfo, CallerInfo, isCallable } from "./caller.ts";
import { INVALID, type Invalid } from "./invalid.ts";
import { filterLists, LISTS } from "./lists.ts";
import { agree, type Messages, parseMessages, readMessages } from "./messages.ts";
import { SESSION_FIELD, Sessions } from "./sessions.ts";

/** The options of `protectMcp`. */
export interface McpOptions extends Partial<BodyLimits> {
  /**
   * Removes what the caller may not call from the lists of tools, prompts and resources. Most servers do not
   * need this: a client cannot request the scope of a tool that it does not see. Default: `false`.
   */
  readonly listFilter?: boolean;
  /**
   * Where the owners of sessions are kept for a week, so that each of several processes knows them:
   * `redisStore(client)` of `scopegate/store`. Default: this process, which forgets those used least.
   */
  readonly store?: Store;
}

/** One request, as its host represents it. */
export interface Exchange {
  /** The request of the platform, in which the guard keeps its verdict. */
  readonly raw: object;
  readonly method: string;
  readonly header: ReadHeader;
  /** The body, or the value that an earlier body parser has stored. */
  readonly body: (limits: BodyLimits) => Pending<ReadBody | { readonly parsed: unknown }>;
  /** Whether a request whose headers announce no body has none: HTTP/2 needs no header for one. */
  readonly isEmpty: (limits: BodyLimits) => Pending<boolean>;
}

/** An allowed request, with what the handlers of the official SDK expect. */
export interface Passed extends Pick<Messages, "body" | "bytes"> {
  readonly verdict: Verdict;
  /** `undefined` if no token was read. */
  readonly authInfo: AuthInfo | undefined;
  /** Sees the session that a response starts or ends; `undefined` if it can do neither. */
  readonly respond: ((status: number, sessionId: string | undefined) => unknown) | undefined;
  /** Filters the lists in the whole body of the response; `undefined` if it stays as it is. */
  readonly filter: ((body: string) => string) | undefined;
}

/** Only an own property: a polluted prototype must not turn a refusal into an allowed request. */
export const isPassed = (outcome: Passed | Answer): outcome is Passed => Object.hasOwn(outcome, "verdict");

export type Gate = (exchange: Exchange) => Promise<Passed | Answer>;

/** The methods that have no body. Any other request must be a message. */
const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const NO_MESSAGE: Messages = { kind: "messages", body: undefined, bytes: undefined, messages: [] };

const OPTIONS: OptionChecks<McpOptions> = {
  maxBodyBytes: wholeNumber,
  bodyTimeoutMs: wholeNumber,
  listFilter: flag,
  store: {
    accepts: (store) =>
      ["get", "set", "delete"].every((name) => typeof Reflect.get(Object(store), name) === "function"),
    hint: "Write a store, such as redisStore(client) of scopegate/store.",
    rejectsUndefined: true,
  },
};
const OTHER_OPTIONS = {
  metadata:
    "Put metadata(server) of your adapter in front of it, and write the option `resource` of createResourceServer.",
};

/** @throws ConfigurationError that lists every mistake in the options */
export function createGate(server: ResourceServer, options: McpOptions, caller = "protectMcp"): Gate {
  checkOptions(caller, options, OPTIONS, OTHER_OPTIONS);
  // Without a prototype: a polluted one must not set an option.
  const written = { __proto__: null, ...options };
  const { maxBodyBytes = 4_194_304, bodyTimeoutMs = 30_000, listFilter = false } = written;
  const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs };
  const sessions = new Sessions(written.store);

  const refuse = (invalid: Invalid, raw: object): Answer => {
    const words = `${invalid.status}: ${invalid.body.error.message}`;
    pipelineOf(server).observer.logResponse(words, verdictOf(raw, server)?.request);
    return invalid;
  };
  const isOwnSession = (raw: object, id: string) => sessions.isOf(id, verdictOf(raw, server)?.principal);
  const pass = ({ body, bytes, messages }: Messages, { raw, method, header }: Exchange): Passed => {
    const verdict = verdictOf(raw, server);
    if (!verdict) throw new Error("The guard did not decide this request.");
    const { principal, request } = verdict;
    const has = (name: string) => messages.some((message) => message.method === name);
    const start = (_: number, id?: string) => id !== undefined && sessions.start(id, principal);
    const end = (status: number) => status < 300 && sessions.end(header(SESSION_FIELD) ?? "");
    const filter = (text: string) => filterLists(text, (called) => isCallable(server, principal, called));
    let respond: Passed["respond"];
    if (has("initialize")) respond = start;
    else if (method === "DELETE") respond = end;
    return {
      verdict,
      body,
      bytes,
      authInfo: principal && (new CallerInfo(server, principal, request) as AuthInfo),
      respond,
      filter: listFilter && LISTS.some((list) => has(list.method)) ? filter : undefined,
    };
  };
  const decideMessages = ({ messages }: Messages, raw: object): PendingRefusal =>
    guardOperations(server, raw, (pipeline, verdict) => {
      const [first, ...others] = messages;
      const calls = others.length === 0 ? (first?.calls ?? []) : messages.flatMap((message) => message.calls);
      const governing = pipeline.table.forCalls(verdict.governing, calls);
      const { request } = verdict;
      // A copy takes as long as the decision.
      const shown = () => ({ ...request, operations: calls.map(({ text }) => text) });
      return pipeline.decideAgain(verdict, governing, pipeline.observer.isWatching ? shown() : request);
    });
  return async (exchange) => {
    const { raw, header } = exchange;
    const session = header(SESSION_FIELD);
    // A server replays the events of a session. Without a session, their owner is unknown.
    const maySee =
      session === undefined ? header("last-event-id") === undefined : await isOwnSession(raw, session);
    if (maySee === "unknown") return refuse(INVALID.unknownOwner, raw);
    if (!maySee) return refuse(INVALID.session, raw);
    const messages = await readExchange(exchange, limits);
    if (messages.kind === "invalid") return refuse(messages, raw);
    return (await decideMessages(messages, raw)) ?? pass(messages, exchange);
  };
}

async function readExchange(exchange: Exchange, limits: BodyLimits): Promise<Messages | Invalid> {
  const { method, header, body, isEmpty } = exchange;
  if (WITHOUT_BODY.has(method)) {
    // Later code may change the method, and read a body that was not checked.
    if (hasBody(header)) return INVALID.message;
    return (await isEmpty(limits)) ? NO_MESSAGE : INVALID.message;
  }
  if (!isJson(header)) return INVALID.type;
  if (Number(header("content-length") ?? 0) > limits.maxBodyBytes) return INVALID.tooLarge;
  return readBodyOf(await body(limits), header);
}

function readBodyOf(read: ReadBody | { readonly parsed: unknown }, header: ReadHeader): Messages | Invalid {
  if (typeof read === "string") return read === "too slow" ? INVALID.tooSlow : INVALID.tooLarge;
  const received = Buffer.isBuffer(read) ? read : read.parsed;
  if (received === undefined) throw new Error(BODY_LOST);
  // A text parser stores the whole body.
  const body = typeof received === "string" ? Buffer.from(received) : received;
  if (typeof body !== "object" || body === null) return INVALID.message;
  const messages = Buffer.isBuffer(body) ? parseMessages(body) : readMessages(body);
  return messages.kind === "invalid" || agree(header, messages.messages) ? messages : INVALID.header;
}

const BODY_LOST =
  "The body was read before protectMcp, and was not stored as a JSON value. Put protectMcp in front of the code that reads it.";
