/** Loads a module that exports a server or an application, and lists the routes of the application. */
import { subscribe } from "node:diagnostics_channel";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hasPipeline } from "../../core/port.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { type FastifyRoutesInstance, isFastify } from "../audit/routes/fastify.ts";
import { isNest } from "../audit/routes/nest.ts";
import { isApplication, routesOf } from "../audit/routes/routes-of.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";
import { findAbove, isFolder } from "./files.ts";

type Routes = Iterable<ListedRoute>;

const NEXT_CONFIGS = ["next.config.js", "next.config.mjs", "next.config.ts", "next.config.mts"];

/** Lists the routes of the folder `app` of a Next.js application. */
async function listFolder(folder: string): Promise<readonly ListedRoute[]> {
  const file = findAbove(folder, NEXT_CONFIGS);
  if (file === undefined) return routesOf(folder);
  try {
    const { default: config } = (await import(/* @vite-ignore */ pathToFileURL(resolve(file)).href)) as {
      readonly default: object;
    };
    return await routesOf(folder, { config });
  } catch (error) {
    throw loadError(file, error);
  }
}

const loadError = (file: string, error: unknown): UsageError =>
  new UsageError(
    `${quote(file)} can't be loaded: ${describeError(error)}${hintFor(error, file)}${renderPlaces(error)}`,
  );

/**
 * Imports a module. It may export `server`, `app`, `router`, `routes`, or a server or application by default.
 */
export async function loadApplication(
  file: string,
): Promise<{ readonly server?: ResourceServer; readonly routes?: readonly ListedRoute[] }> {
  if (isFolder(file)) return { routes: await listFolder(file) };
  // Fastify reports routes only to hooks that were added before the first route.
  const lists = new Map<unknown, Routes>();
  subscribe("fastify.initialization", (message) => {
    const { fastify } = message as { readonly fastify: FastifyRoutesInstance };
    lists.set(fastify, routesOf(fastify));
  });
  try {
    const module = (await import(/* @vite-ignore */ pathToFileURL(resolve(file)).href)) as object;
    const exported = await readExports(module);
    const server = exported.find((value) => hasPipeline(Object(value) as object)) as
      ResourceServer | undefined;
    const app = exported.find(isApplication);
    const listed = (await Reflect.get(module, "routes")) as Routes | undefined;
    const mounted = (await Reflect.get(module, "mounted")) as readonly object[] | undefined;
    const recorded = app && (await listRoutes(app, lists, mounted));
    const routes = (listed ?? recorded) && [...(recorded ?? []), ...(listed ?? [])];
    if (!server && !routes)
      throw new UsageError(
        `${quote(file)} exports neither a server nor an application: write \`export { server, app }\` or \`export default app\`.`,
      );
    return compact({ server, routes });
  } catch (error) {
    throw error instanceof UsageError ? error : loadError(file, error);
  }
}

/** Describes an error in one line. Errors of Node.js, such as a refused connection, may have no message. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return "it failed.";
  return error.message === "" ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message;
}

/** Renders where an error and its causes were thrown, which the message alone doesn't show. */
export function renderPlaces(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth === 5) return "";
  const cause = depth > 0 ? `\nCaused by: ${String(error)}` : "";
  const place = placeOf(error);
  const at = place === undefined ? "" : `\n  at ${place}`;
  return cause + at + renderPlaces(error.cause, depth + 1);
}

/** The folder of this program. Its own code also calls the application. */
const PROGRAM = fileURLToPath(new URL(".", import.meta.url));

/** Matches file, line and column in a line of a stack. The first line may be the place of a syntax error. */
const PLACE = /^(?: +at (?:.*\(|async )?)?(?:file:\/\/)?((?:\/|[A-Z]:\\).*:\d+)\)?$/;

/** Finds the first place of a stack that is in a file of the application. */
function placeOf({ stack = "" }: Error): string | undefined {
  const places = stack.split("\n").flatMap((line) => PLACE.exec(line)?.[1] ?? []);
  return places.find((place) => !place.startsWith(PROGRAM) && !/[\\/]node_modules[\\/]/.test(place));
}

function hintFor(error: unknown, file: string): string {
  if ((error as NodeJS.ErrnoException | null)?.code === "EADDRINUSE")
    return ". Set PORT=0 if it listens on PORT, or export the server from a module that doesn't listen.";
  const isTyped = /\.[cm]?tsx?$/.test(file);
  return isTyped
    ? ". For TypeScript, run `npm install --save-dev tsx`, and write `node --import tsx node_modules/scopegate/dist/cli.js` instead of `npx scopegate`."
    : "";
}

/** Reads the exports by name, those of a CommonJS module and the default one. Promises are awaited. */
async function readExports(module: object): Promise<readonly unknown[]> {
  const fallback: unknown = await Reflect.get(module, "default");
  const isSingle = isApplication(fallback) || hasPipeline(Object(fallback) as object);
  const all: object = { ...(isSingle ? {} : (fallback as object)), ...module, default: fallback };
  return Promise.all(["server", "app", "router", "default"].map((name) => Reflect.get(all, name) as unknown));
}

/** `lists` are the routes of Fastify instances, recorded since the instances were created. */
async function listRoutes(
  app: object,
  lists: ReadonlyMap<unknown, Routes>,
  mounted: readonly object[] | undefined,
): Promise<Routes> {
  if (isNest(app)) await (app as object as { init(): Promise<unknown> }).init();
  if (isFastify(app)) await (app as object as { ready(): PromiseLike<unknown> }).ready();
  return lists.get(app) ?? routesOf(app, compact({ mounted }));
}
