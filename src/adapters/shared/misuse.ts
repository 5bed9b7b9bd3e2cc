/** Finds mistakes in the use of an adapter that would leave an application unprotected. */
import { checkOptions } from "../../core/options/check-options.ts";
import { createWarning } from "../../core/runtime/warn-once.ts";
import { hasPipeline } from "../../core/port.ts";
import { type ResourceServer } from "../../core/server.ts";
import { type AccessRequest } from "../../core/request.ts";
import { type NodeRequest } from "./node-request.ts";

const FRAMEWORKS = {
  express: { name: "Express", line: "app.use(protect(server))", subject: "request" },
  koa: { name: "Koa", line: "app.use(protect(server))", subject: "context" },
  fastify: { name: "Fastify", line: "app.register(protect(server))", subject: "request" },
  fetch: { name: "Fetch", line: "withScopes(server, handler)", subject: "request" },
  hono: { name: "Hono", line: "app.use(protect(server))", subject: "context" },
  node: { name: "Node.js", line: "await protect(server)(request, response)", subject: "request" },
  nest: { name: "NestJS", line: "imports: [ScopegateModule.forRoot(server)]", subject: "request" },
  trpc: { name: "tRPC", line: 'createContext: protect(server, { prefix: "/trpc" })', subject: "context" },
};

export type Framework = keyof typeof FRAMEWORKS;

/** Fails at boot: a framework that receives `protect` itself would call it, and continue without a guard. */
export function assertResourceServer(server: unknown, caller = "protect"): asserts server is ResourceServer {
  if (typeof server === "object" && server !== null && hasPipeline(server)) return;
  const found = recognize([server]);
  const line = found ? FRAMEWORKS[found].line.replace("protect(", `${caller}(`) : "";
  const isKnown = found && (caller === "protect" || line.includes(`${caller}(`));
  const uncalled = isKnown
    ? ` ${FRAMEWORKS[found].name} calls ${caller} itself: write ${line}, with the parentheses.`
    : "";
  throw new TypeError(
    `${caller} takes the resource server itself, not a copy of it: write ${caller}(createResourceServer({ ... })).${uncalled}`,
  );
}

/** Each route is checked as its router reads it, so no options are needed. */
export type NoOptions = Readonly<Record<string, never>>;

/** @throws ConfigurationError for any option */
export const assertNoOptions = (options: NoOptions): void => checkOptions("protect", options, {});

/** Returns the error for a guard that another framework calls, or that is called in the wrong place. */
export function misplaced(adapter: Framework, ...given: readonly unknown[]): TypeError {
  const found = recognize(given);
  const { name, line } = found ? FRAMEWORKS[found] : { name: "another framework", line: "" };
  const entry = found ? `, "scopegate/${found}", and write ${line}` : "";
  const fix =
    found === adapter
      ? ` in the wrong place: write ${line}.`
      : found || adapter !== "fetch"
        ? `: import it from the adapter of that framework${entry}.`
        : " without a Request of the Fetch standard: pass it first, as in guard(event.request).";
  return new TypeError(`protect of "scopegate/${adapter}" was called by ${name}${fix}`);
}

/** Fails for an object of another framework: without a verdict, it would seem to have no caller. */
export function assertRequestOf(adapter: Framework, given: unknown, raw: unknown): asserts raw is object {
  const found = recognize([given]);
  // NestJS passes on the requests of Express and Fastify.
  const isOwn =
    found === adapter ||
    (isNodes(found) && (isNodes(adapter) || adapter === "nest")) ||
    (adapter === "nest" && found === "fastify");
  if (isOwn && Object(raw) === raw) return;
  const { name, subject } = FRAMEWORKS[adapter];
  // The guard of Hono keeps the caller with the context: "scopegate/fetch" would find none for its request.
  const isInContext = adapter === "hono" && found === "fetch";
  const fix =
    found && found !== adapter && found !== "trpc" && !isInContext
      ? `It received the ${FRAMEWORKS[found].subject} of ${FRAMEWORKS[found].name}: import it from "scopegate/${found}" and write principalOf(${FRAMEWORKS[found].subject}).`
      : `Write principalOf(${subject}) in a handler.`;
  throw new TypeError(`principalOf of "scopegate/${adapter}" takes the ${subject} of ${name}. ${fix}`);
}

/** Express's request is Node's. */
const isNodes = (found: Framework | undefined): boolean => found === "express" || found === "node";

/** Returns the framework that passes these objects to a middleware or plugin. */
export function recognize([first, , third]: readonly unknown[]): Framework | undefined {
  const has = (...names: readonly string[]) => names.every((name) => name in (Object(first) as object));
  if (has("addHook", "register") || has("raw", "routeOptions")) return "fastify";
  if (has("req", "newResponse")) return "hono";
  if (has("req", "info")) return "trpc";
  if (has("req", "res", "originalUrl")) return "koa";
  if (has("headers", "bodyUsed")) return "fetch";
  if (has("headers") && (has("originalUrl") || typeof third === "function")) return "express";
  return has("headers", "rawHeaders") ? "node" : undefined;
}

/** Creates the function that a guard calls for a request whose body is already parsed. It warns once. */
export function createBodyWarning(): (raw: NodeRequest) => void {
  const warn = createWarning(
    "A body parser runs in front of protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) in front of the parser.",
  );
  return ({ headers }) => {
    // Some parsers set a body on every request, even on one that has none (RFC 9112 section 6).
    if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0) warn();
  };
}

/** Warns once per process of a CORS preflight that has no rule: browsers can then call no route. */
export function warnOfPreflight({ source }: Pick<AccessRequest, "source">): void {
  if (["origin", "access-control-request-method"].every((name) => hasField(source, name))) warnOfCors();
}

/** `source` is a request of Node.js, of the Fetch standard or of a framework, or a context of Koa or Hono. */
function hasField(source: unknown, name: string): boolean {
  const { headers, req } = Object(source) as { readonly headers?: object; readonly req?: { raw?: Request } };
  const fields = headers ?? req?.raw?.headers ?? {};
  return fields instanceof Headers ? fields.has(name) : Object.hasOwn(fields, name);
}

const warnOfCors = createWarning(
  "protect refused a CORS preflight, because CORS middleware is missing or runs after it: browsers cannot call the application. Register CORS middleware in front of protect. In NestJS, replace `cors: true` with app.enableCors() in front of app.use(protect(server)).",
);
