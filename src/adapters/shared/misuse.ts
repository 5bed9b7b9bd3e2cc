/** Finds mistakes in the use of an adapter that would leave an application unprotected. */
import { createWarning } from "../../core/runtime/warn-once.ts";
import { hasPipeline } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { AccessRequest } from "../../core/request.ts";

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

/** Fails at startup or with the first request: a framework would call `protect`, and continue unguarded. */
export function assertResourceServer(server: unknown, caller = "protect"): asserts server is ResourceServer {
  if (typeof server === "object" && server !== null && hasPipeline(server)) return;
  const framework = recognize([server]);
  const line = framework ? FRAMEWORKS[framework].line.replace("protect(", `${caller}(`) : "";
  const uncalled =
    framework && (caller === "protect" || line.includes(`${caller}(`))
      ? ` ${FRAMEWORKS[framework].name} calls ${caller} itself: write ${line}, with the parentheses.`
      : "";
  const isMissing = server === undefined || server === null;
  const problem = isMissing
    ? "needs a resource server"
    : "takes the resource server itself, not a copy of it";
  throw new TypeError(`${caller} ${problem}: write ${caller}(createResourceServer({ ... })).${uncalled}`);
}

/** Returns the error for a guard that another framework calls, or that is called in the wrong place. */
export function misplaced(adapter: Framework, ...parameters: readonly unknown[]): TypeError {
  const caller = recognize(parameters);
  const name = caller ? FRAMEWORKS[caller].name : "another framework";
  return new TypeError(`protect of "scopegate/${adapter}" was called by ${name}${fixOf(adapter, caller)}`);
}

function fixOf(adapter: Framework, caller: Framework | undefined): string {
  if (caller === adapter) return ` in the wrong place: write ${FRAMEWORKS[caller].line}.`;
  if (caller)
    return `: import it from the adapter of that framework, "scopegate/${caller}", and write ${FRAMEWORKS[caller].line}.`;
  if (adapter === "fetch")
    return " without a Request of the Fetch standard: pass it first, as in guard(event.request).";
  return ": import it from the adapter of that framework.";
}

/** Fails for an object of another framework: without a verdict, it would seem to have no caller. */
export function assertRequestOf(adapter: Framework, subject: unknown, raw: unknown): asserts raw is object {
  const framework = recognize([subject]);
  // NestJS passes on the requests of Express and Fastify.
  const isOfAdapter =
    framework === adapter ||
    (isNodes(framework) && (isNodes(adapter) || adapter === "nest")) ||
    (adapter === "nest" && framework === "fastify");
  if (isOfAdapter && Object(raw) === raw) return;
  const expected = FRAMEWORKS[adapter];
  // Hono's guard stores the caller with the context, so "scopegate/fetch" would find none for the request.
  const isInContext = adapter === "hono" && framework === "fetch";
  let fix = `Write principalOf(${expected.subject}) in a handler.`;
  if (framework && framework !== adapter && framework !== "trpc" && !isInContext) {
    const received = FRAMEWORKS[framework];
    fix = `It received the ${received.subject} of ${received.name}: import it from "scopegate/${framework}" and write principalOf(${received.subject}).`;
  }
  throw new TypeError(
    `principalOf of "scopegate/${adapter}" takes the ${expected.subject} of ${expected.name}. ${fix}`,
  );
}

/** Express's request is Node's. */
const isNodes = (name: Framework | undefined): boolean => name === "express" || name === "node";

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

/** Warns once per process about a CORS preflight without a rule: browsers can then call no route. */
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
  "protect refused a CORS preflight, because CORS middleware is missing or runs after it: browsers can't call the application. Register CORS middleware before protect. In NestJS, replace `cors: true` with app.enableCors() before app.use(protect(server)).",
);
