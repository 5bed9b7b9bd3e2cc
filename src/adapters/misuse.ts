/** Mistakes in the use of an adapter that would leave an application open, found at boot. */
import { createWarning } from "../runtime/warn-once.ts";
import { hasPipeline } from "../pipeline.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type NodeRequest } from "./node-request.ts";

const FRAMEWORKS = {
  express: { name: "Express", line: "app.use(protect(server))" },
  koa: { name: "Koa", line: "app.use(protect(server))" },
  fastify: { name: "Fastify", line: "app.register(protect(server))" },
  node: { name: "Node.js", line: "await protect(server)(request, response)" },
};

type Framework = keyof typeof FRAMEWORKS;

/**
 * Fails at boot for anything but a resource server. A framework that is given `protect` itself calls it with
 * its own objects, and would continue without a guard.
 */
export function assertResourceServer(server: unknown, caller = "protect"): asserts server is ResourceServer {
  if (typeof server === "object" && server !== null && hasPipeline(server)) return;
  const found = recognize([server]);
  const uncalled = found
    ? ` ${FRAMEWORKS[found].name} was given ${caller} itself, and calls it: write ${FRAMEWORKS[found].line}, with the parentheses.`
    : "";
  throw new TypeError(
    `${caller} takes the resource server itself, not a copy of it: write ${caller}(createResourceServer({ ... })).${uncalled}`,
  );
}

/** Each route is checked as its router reads it, so there is nothing to set. */
export type NoOptions = Readonly<Record<string, never>>;

export function assertNoOptions(options: NoOptions): void {
  const [name] = Object.keys(options);
  if (name !== undefined) throw new TypeError(`protect received unknown option \`${name}\`. It takes none.`);
}

/** The error for a guard that another framework calls, or its own one in a place where it cannot guard. */
export function misplaced(adapter: Framework, ...given: readonly unknown[]): TypeError {
  return new TypeError(
    `protect of "scopegate/${adapter}" was called by ${describe(recognize(given), adapter)}`,
  );
}

function describe(found: Framework | undefined, adapter: Framework): string {
  if (!found) return "another framework: import it from the adapter of this one.";
  const { name, line } = FRAMEWORKS[found];
  return found === adapter
    ? `${name} in a place that it is not for: write ${line}.`
    : `${name}: import it from the adapter of this one, "scopegate/${found}", and write ${line}.`;
}

/** The framework that passes these objects to a middleware or plugin. */
function recognize([first, , third]: readonly unknown[]): Framework | undefined {
  const has = (...names: readonly string[]) => names.every((name) => name in (Object(first) as object));
  if (has("addHook", "register") || has("raw", "routeOptions")) return "fastify";
  if (has("req", "res", "originalUrl")) return "koa";
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
