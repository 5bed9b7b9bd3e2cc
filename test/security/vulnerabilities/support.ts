/** One protected application in each framework, and requests that try to reach its handlers. */
import type { RequestListener } from "node:http";
import { posix } from "node:path";
import fastify from "fastify";
import { addRoute, createRouter, findRoute } from "rou3";
import { expect, onTestFinished } from "vitest";
import type { ResourceServer, ScopeMappings } from "scopegate";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forNode from "scopegate/node";
import {
  type Application as ConformanceApplication,
  applications,
  type Route,
} from "../../conformance/applications.ts";
import { RawClient } from "../../routing/raw-client.ts";
import { serve, serveFastify, serverFor } from "../../support/frameworks.ts";
import { listenerOf } from "../../support/hosts.ts";
import { issuer } from "../../support/resource-servers.ts";

/** A served application, and the routes whose handlers ran. */
export interface Application {
  readonly port: number;
  readonly ran: string[];
}

/** Serves `GET` routes such as `/users/:id`, behind `protect` if there is a server. */
export type Open = (routes: readonly string[], server?: ResourceServer) => Promise<Application>;

export const createGuarded = (scopeMappings: ScopeMappings): ResourceServer =>
  serverFor(scopeMappings, { tokenSources: [{ header: "authorization" }, { cookie: "token" }] });

export const openFetch = (fetch: (request: Request) => Response | Promise<Response>): Promise<number> =>
  serve(listenerOf(fetch));

/** An application of the conformance suite. */
const openApplication =
  ({ start }: ConformanceApplication): Open =>
  async (paths, server) => {
    const routes = paths.map((path): Route => ({ method: "GET", path, handle: () => null }));
    const { port, ran, close } = await start({ server, routes });
    onTestFinished(close);
    return { port, ran };
  };

/** A handler with the router of h3 and better-auth, which ignored empty segments until it was fixed. */
const openRou3: Open = async (routes, server) => {
  const ran: string[] = [];
  const router = createRouter<string>();
  for (const route of routes) addRoute(router, "GET", route, route);
  const handle = (request: Request): Response => {
    const path = new URL(request.url).pathname.replaceAll(/\/+/g, "/");
    const data = findRoute(router, "GET", path)?.data;
    return data === undefined ? new Response(null, { status: 404 }) : Response.json(ran.push(data));
  };
  const guard = server && forFetch.protect(server);
  const port = await openFetch(async (request) => {
    const access = await guard?.(request);
    return access instanceof Response ? access : handle(request);
  });
  return { port, ran };
};

/** A handler that decodes the path twice, removes dot segments, and ignores case, empty segments and what follows `;`. */
const openNode: Open = async (routes, server) => {
  const ran: string[] = [];
  const patterns = routes.map((route) => new RegExp(`^${route.replaceAll(/:\w+/g, "[^/]+")}/?(?:;|$)`, "iu"));
  const read = (target: string): string => {
    const [path = ""] = target.replace(/^\w+:\/\/[^/]*/, "").split(/[?#]/);
    return posix.normalize(decodeURIComponent(decodeURIComponent(path)).replaceAll("\\", "/"));
  };
  const handle: RequestListener = (request, response) => {
    try {
      const path = read(request.url ?? "");
      routes.filter((_, index) => patterns[index]?.test(path)).forEach((route) => ran.push(route));
      response.end();
    } catch {
      response.writeHead(400).end();
    }
  };
  const guard = server && forNode.protect(server);
  const listener: RequestListener = (request, response) => {
    if (!guard) handle(request, response);
    else void guard(request, response).then((isAllowed) => isAllowed && handle(request, response));
  };
  return { port: await serve(listener), ran };
};

/** Options with which Fastify accepts more spellings of a path. */
export const LENIENT = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  useSemicolonDelimiter: true,
};

const openLenient: Open = async (routes, server) => {
  const ran: string[] = [];
  const app = fastify({ routerOptions: LENIENT });
  if (server) await app.register(forFastify.protect(server));
  for (const route of routes) app.get(route, () => String(ran.push(route)));
  return { port: await serveFastify(app), ran };
};

const FRAMEWORKS: Readonly<Record<string, Open>> = {
  ...Object.fromEntries(
    applications
      .filter(({ name }) => /^(?:Express|Koa|Fastify|Hono)/.test(name))
      .map((application) => [application.name, openApplication(application)]),
  ),
  "lenient Fastify": openLenient,
  rou3: openRou3,
  "Node.js": openNode,
};

/** Header fields in addition to `Host`, which has a default. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** Sends each target unchanged, and returns those for which a handler ran. */
export async function findReached(
  { port, ran }: Application,
  targets: readonly string[],
  fields: Fields = [],
): Promise<readonly string[]> {
  const client = new RawClient(port);
  onTestFinished(() => client.close());
  const host: Fields = fields.some(([name]) => name === "host") ? [] : [["host", "h"]];
  const reached: string[] = [];
  for (const target of targets) {
    ran.length = 0;
    const { status } = await client.ask({ method: "GET", target, headers: [...host, ...fields] });
    expect(status, target).toBeLessThan(500);
    if (ran.length > 0) reached.push(target);
  }
  ran.length = 0;
  return reached;
}

export const bearer = async (...scopes: readonly string[]): Promise<Fields> => [
  ["authorization", `Bearer ${await issuer.token({ scopes })}`],
];

/** The rule of the protected route in most attacks. Every other path is public. */
export const ADMIN_TABLE: ScopeMappings = {
  "GET /admin": ["admin:read"],
  "GET /admin/*rest": ["admin:read"],
  "GET /{*path}": "public",
};

export interface Attack {
  readonly targets: readonly string[];
  /** Default: `ADMIN_TABLE`. */
  readonly table?: ScopeMappings;
  /** The protected routes. The first one must be reached with `admin:read`. Default: `/admin`. */
  readonly routes?: readonly [string, ...string[]];
  readonly fields?: Fields;
}

/**
 * Expects that no target reaches a protected handler: without a token, and with a token that lacks the scope. Returns
 * what reached one in the same applications without `protect`, such as `Express 5 /%61dmin`.
 */
export async function expectUnreachable({
  targets,
  table = ADMIN_TABLE,
  routes = ["/admin"],
  fields = [],
}: Attack): Promise<readonly string[]> {
  const open: string[] = [];
  for (const [name, openFramework] of Object.entries(FRAMEWORKS)) {
    const unguarded = await findReached(await openFramework(routes), targets, fields);
    open.push(...unguarded.map((target) => `${name} ${target}`));
    const guarded = await openFramework(routes, createGuarded(table));
    expect(await findReached(guarded, targets, fields), name).toEqual([]);
    const others = [...fields, ...(await bearer("other:read"))];
    expect(await findReached(guarded, targets, others), `${name}, with another scope`).toEqual([]);
    const first = routes.slice(0, 1);
    expect(await findReached(guarded, first, await bearer("admin:read")), name).toEqual(first);
  }
  return open;
}
