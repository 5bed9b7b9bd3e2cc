/** The guard of each framework. Its module loads the adapter, so it's loaded with the first request. */
import type { Pending } from "../../../core/runtime/pending.ts";
import type { ResourceServer } from "../../../core/resource-server.ts";
import type { Framework } from "../../shared/misuse.ts";
import type { Gate } from "../gate.ts";
import type { GateSettings } from "../options.ts";
import type { createFrameworkGate as createExpressGate } from "./express.ts";
import type { createFrameworkGate as createFastifyGate } from "./fastify.ts";
import type { createFrameworkGate as createFetchGate } from "./fetch.ts";
import type { createFrameworkGate as createHonoGate } from "./hono.ts";
import type { createFrameworkGate as createKoaGate } from "./koa.ts";

/** The guard of an MCP server: middleware, a plugin or a function, depending on the calling framework. */
export type McpGate = ReturnType<typeof createExpressGate> &
  ReturnType<typeof createKoaGate> &
  ReturnType<typeof createHonoGate> &
  ReturnType<typeof createFetchGate> &
  ReturnType<typeof createFastifyGate>;

/** A function in the framework's own form, such as a middleware. */
type FrameworkGate = (...parameters: readonly unknown[]) => unknown;

interface FrameworkModule {
  readonly createFrameworkGate: (server: ResourceServer, gate: Gate) => (...parameters: never) => unknown;
}

const MODULES = new Map<Framework, () => Promise<FrameworkModule>>([
  ["express", () => import("./express.ts")],
  ["koa", () => import("./koa.ts")],
  ["fastify", () => import("./fastify.ts")],
  ["hono", () => import("./hono.ts")],
  ["fetch", () => import("./fetch.ts")],
]);

/** Returns a function that finds the guard of a framework; `undefined` for one that has none. */
export function createGateFinder(server: ResourceServer, settings: GateSettings) {
  const gates = new Map<Framework, FrameworkGate>();
  // One gate for all frameworks, because it keeps the owners of sessions.
  let gate: Gate | undefined;
  const loadGate = async (load: () => Promise<FrameworkModule>): Promise<FrameworkGate> => {
    const [{ createFrameworkGate }, { createGate }] = await Promise.all([load(), import("../gate.ts")]);
    gate ??= createGate(server, settings);
    return createFrameworkGate(server, gate) as FrameworkGate;
  };
  return (framework: Framework): Pending<FrameworkGate> | undefined => {
    const load = MODULES.get(framework);
    if (!load) return undefined;
    return (
      gates.get(framework) ??
      loadGate(load).then((created) => {
        gates.set(framework, created);
        return created;
      })
    );
  };
}
