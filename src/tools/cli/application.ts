/** Loads a module that exports a server or an application, and lists the routes of the application. */
import { subscribe } from "node:diagnostics_channel";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { routesOf as routesOfExpress } from "../../adapters/express/list-routes.ts";
import {
  type FastifyRoutesInstance,
  routesOf as routesOfFastify,
} from "../../adapters/fastify/list-routes.ts";
import { routesOf as routesOfHono } from "../../adapters/hono/list-routes.ts";
import { routesOf as routesOfKoa } from "../../adapters/koa/list-routes.ts";
import { type ListedRoute } from "../audit/coverage.ts";
import { hasPipeline } from "../../core/port.ts";
import { type ResourceServer } from "../../core/server.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";

type Routes = Iterable<ListedRoute>;

/** Lists the routes of an application of this kind; `undefined` for any other value. */
type Lister = (app: never, lists: ReadonlyMap<unknown, Routes>) => Routes | Promise<Routes>;

const LISTERS: readonly (readonly [names: readonly string[], list: Lister])[] = [
  [["getHttpAdapter", "init"], listNest],
  [["printRoutes", "ready"], listFastify],
  [["routes", "basePath", "fetch"], (app) => routesOfHono(app)],
  [["middleware", "callback"], (app) => routesOfKoa(app)],
  [["opts", "stack", "routes"], (app) => routesOfKoa(app)],
  [["handle", "stack"], (app) => routesOfExpress(app)],
  [["handle", "mountpath"], (app) => routesOfExpress(app)],
];

const listerOf = (value: unknown): Lister | undefined =>
  LISTERS.find(([names]) => names.every((name) => name in (Object(value) as object)))?.[1];

/** Imports a module. It may export `server`, `app`, `router` and `routes`, or a server or app by default. */
export async function loadApplication(
  file: string,
): Promise<{ readonly server?: ResourceServer; readonly routes?: readonly ListedRoute[] }> {
  // Fastify reports routes only to hooks that were added before the first route.
  const lists = new Map<unknown, Routes>();
  subscribe("fastify.initialization", (message) => {
    const { fastify } = message as { readonly fastify: FastifyRoutesInstance };
    lists.set(fastify, routesOfFastify(fastify));
  });
  try {
    const module = (await import(/* @vite-ignore */ pathToFileURL(resolve(file)).href)) as object;
    const exported = await readExports(module);
    const server = exported.find((value) => hasPipeline(Object(value) as object)) as
      ResourceServer | undefined;
    const app = exported.find((value) => listerOf(value));
    const listed = (await Reflect.get(module, "routes")) as Routes | undefined;
    const found = await listerOf(app)?.(app as never, lists);
    const routes = (listed ?? found) && [...(found ?? []), ...(listed ?? [])];
    if (!server && !routes)
      throw new UsageError(
        `${quote(file)} exports neither a server nor an application: write \`export { server, app }\` or \`export default app\`.`,
      );
    return { ...(server && { server }), ...(routes && { routes }) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${quote(file)} cannot be loaded: ${error instanceof Error ? error.message : "it failed."}${hintFor(error, file)}${renderStacks(error)}`,
    );
  }
}

/** Renders the stack of an error, and of its causes: the message alone does not say where a module failed. */
export function renderStacks(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth === 5) return "";
  const stack = `\n${depth > 0 ? "Caused by: " : ""}${error.stack ?? String(error)}`;
  return stack + renderStacks(error.cause, depth + 1);
}

function hintFor(error: unknown, file: string): string {
  if ((error as NodeJS.ErrnoException | null)?.code === "EADDRINUSE")
    return ". Set PORT=0 if it listens on PORT, or export the server from a module that does not listen.";
  const isTyped = /\.[cm]?tsx?$/.test(file);
  return isTyped ? " For TypeScript run node --import tsx node_modules/scopegate/dist/cli.js." : "";
}

/** Reads the exports by name, those of a CommonJS module and the default one. Promises are awaited. */
async function readExports(module: object): Promise<readonly unknown[]> {
  const fallback: unknown = await Reflect.get(module, "default");
  const isSingle = listerOf(fallback) !== undefined || hasPipeline(Object(fallback) as object);
  const all: object = { ...(isSingle ? {} : (fallback as object)), ...module, default: fallback };
  return Promise.all(["server", "app", "router", "default"].map((name) => Reflect.get(all, name) as unknown));
}

async function listFastify(
  app: FastifyRoutesInstance & { ready(): PromiseLike<unknown> },
  lists: ReadonlyMap<unknown, Routes>,
) {
  await app.ready();
  return lists.get(app) ?? routesOfFastify(app);
}

/** Loaded only for its applications: it needs NestJS. */
async function listNest(app: { init(): Promise<unknown>; getHttpAdapter(): never }): Promise<Routes> {
  const { routesOf } = await import("../../adapters/nest/index.ts");
  await app.init();
  return routesOf(app);
}
