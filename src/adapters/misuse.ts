/** Mistakes in the use of an adapter that would leave an application open, found at boot. */
import { hasPipeline } from "../pipeline.ts";
import { type ResourceServer } from "../resource-server.ts";

/**
 * Fails at boot for anything but a resource server. A framework that is handed `protect` itself calls it with its own
 * objects, and would go on without a guard.
 */
export function assertResourceServer(server: unknown, caller = "protect"): asserts server is ResourceServer {
  if (typeof server === "object" && server !== null && hasPipeline(server)) return;
  const framework = recognize([server]);
  const uncalled = framework
    ? ` ${framework.name} was given ${caller} itself, and calls it: write ${framework.line}, with the parentheses.`
    : "";
  throw new TypeError(
    `${caller} takes the resource server itself, not a copy of it: write ${caller}(createResourceServer({ ... })).${uncalled}`,
  );
}

/** Options would be ignored: routers that read paths differently need none, because each route is checked. */
export function assertNoOptions(options: object): void {
  const [name] = Object.keys(options);
  if (name !== undefined) throw new TypeError(`protect received unknown option \`${name}\`. It takes none.`);
}

interface Framework {
  readonly name: string;
  readonly adapter: string;
  readonly line: string;
}

const FRAMEWORKS = {
  express: { name: "Express", adapter: "scopegate/express", line: "app.use(protect(server))" },
  koa: { name: "Koa", adapter: "scopegate/koa", line: "app.use(protect(server))" },
  fastify: { name: "Fastify", adapter: "scopegate/fastify", line: "app.register(protect(server))" },
  node: { name: "Node.js", adapter: "scopegate/node", line: "await protect(server)(request, response)" },
} satisfies Record<string, Framework>;

/** Who calls a middleware, told by what it hands over. */
function recognize([first, , third]: readonly unknown[]): Framework | undefined {
  const has = (...names: readonly string[]): boolean =>
    names.every((name) => name in (Object(first) as object));
  if (has("addHook", "register") || has("raw", "routeOptions")) return FRAMEWORKS.fastify;
  if (has("req", "res", "originalUrl")) return FRAMEWORKS.koa;
  if (has("headers", "originalUrl") || (has("headers") && typeof third === "function"))
    return FRAMEWORKS.express;
  return has("headers", "rawHeaders") ? FRAMEWORKS.node : undefined;
}

/**
 * The fault where the guard of one framework is called by another one, which would take what it answers for something
 * else, or in another place than it is for.
 */
export function misplaced(adapter: keyof typeof FRAMEWORKS, ...given: readonly unknown[]): TypeError {
  const own = FRAMEWORKS[adapter];
  const found = recognize(given);
  const caller =
    found === own ? `${own.name} in a place that it is not for` : (found?.name ?? "another framework");
  const fix =
    found === own
      ? `write ${own.line}.`
      : `import it from the adapter of this one${found ? `, "${found.adapter}", and write ${found.line}` : ""}.`;
  return new TypeError(`protect of "${own.adapter}" was called by ${caller}: ${fix}`);
}
