/**
 * Serves an application whose framework other packages wrap, sends requests to it, and prints a report.
 * Arguments: the framework, the number of requests, their path or `all`, and modules to load after the
 * framework and scopegate. `node --require` loads modules before them. A tracer sets `globalThis.isTracing`.
 */
import events = require("node:events");
import type httpModule = require("node:http");
import type net = require("node:net");
import type expressModule = require("express");
import type KoaModule = require("koa");
import type RouterModule = require("@koa/router");
import type core = require("scopegate");
import type auditTool = require("scopegate/audit");
import type expressAdapter = require("scopegate/express");
import type koaAdapter = require("scopegate/koa");
import type testing = require("scopegate/testing");

const [framework = "", total = "", repeatedPath = "", ...late] = process.argv.slice(2);
const loadedFirst = framework === "koa" ? ["koa", "@koa/router"] : ["express"];
for (const name of [...loadedFirst, `scopegate/${framework}`, ...late]) require(name);
// A tracer that was loaded late patches a framework when the next module requires it.
const http = require("node:http") as typeof httpModule;
const { createResourceServer } = require("scopegate") as typeof core;
const { audit: auditRoutes, routesOf } = require("scopegate/audit") as typeof auditTool;
const { createTestIssuer } = require("scopegate/testing") as typeof testing;

const issuer = createTestIssuer();
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  scopeMappings: {
    "GET /agents/public": "public",
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /teams/:team_id": ["teams:<team_id>:read"],
    "GET /teams/settings": ["settings:read"],
    "GET /files/:file_id": ["files:<file_id>:read"],
    "GET /files/latest": ["history:read"],
  },
});

/** Each path, with sufficient scopes and sets of insufficient scopes. */
const REQUESTS = [
  { path: "/agents/public", enough: ["agents:public:read"], insufficient: [["agents:web:read"]] },
  {
    path: "/teams/settings",
    enough: ["settings:read", "teams:settings:read"],
    insufficient: [["settings:read"], ["teams:settings:read"]],
  },
  {
    path: "/files/latest",
    enough: ["history:read", "files:latest:read"],
    insufficient: [["history:read"], ["files:latest:read"]],
  },
  { path: "/agents/web", enough: ["agents:web:read"], insufficient: [["agents:public:read"]] },
] as const;

/** Where the guard is: before all routes, nowhere, after some routes, or before all routes and on one. */
type GuardPlace = "first" | "none" | "late" | "twice";

interface Application {
  readonly listen: (port: number) => httpModule.Server;
  readonly audit: () => auditTool.AuditReport;
  /** Every function in the stacks of the routes. */
  readonly handlers: () => readonly unknown[];
}

/** Recorded by the next handler if `isWanted`: its call stack, and whether a trace is active. */
const seen = { isWanted: false, stack: "", isTraced: false };

function answer(route: string, principal: core.Principal | undefined): string {
  if (seen.isWanted) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = Infinity;
    seen.stack = new Error().stack ?? "";
    Error.stackTraceLimit = stackTraceLimit;
    seen.isTraced = (globalThis as { isTracing?: () => boolean }).isTracing?.() ?? false;
  }
  return `${route} for ${String(principal?.userId)}`;
}

function createExpress(guard: GuardPlace): Application {
  const express = require("express") as typeof expressModule;
  const { principalOf, protect } = require("scopegate/express") as typeof expressAdapter;
  const show = (route: string) => (request: expressModule.Request, response: expressModule.Response) =>
    void response.send(answer(route, principalOf(request)));
  const app = express();
  if (guard === "first" || guard === "twice") app.use(protect(server));
  app.get("/agents/public", (_request, _response, next) => next());
  app.get("/agents/:agent_id", show("/agents/:agent_id"));
  if (guard === "late") app.use(protect(server));
  if (guard === "twice") app.get("/teams/:team_id", protect(server), show("/teams/:team_id"));
  else app.get("/teams/:team_id", show("/teams/:team_id"));
  app.get("/teams/settings", show("/teams/settings"));
  const files = express.Router();
  files.get("/:file_id", show("/files/:file_id"));
  files.get("/latest", show("/files/latest"));
  app.use("/files", files);
  return {
    listen: (port) => app.listen(port),
    audit: () => auditRoutes(server, routesOf(app)),
    handlers: () => expressHandlersOf(app),
  };
}

interface ExpressLayer {
  readonly route?: { readonly stack: readonly { readonly handle: unknown }[] };
  readonly handle: { readonly stack?: readonly ExpressLayer[] };
}

function expressHandlersOf(app: object): readonly unknown[] {
  // Express 4 throws when the property of Express 5 is read.
  const router = "_router" in app ? app._router : (app as unknown as { readonly router: unknown }).router;
  const walk = (layers: readonly ExpressLayer[]): readonly unknown[] =>
    layers.flatMap(({ route, handle }) => route?.stack.map((one) => one.handle) ?? walk(handle.stack ?? []));
  return walk((router as { readonly stack: readonly ExpressLayer[] }).stack);
}

function createKoa(guard: GuardPlace): Application {
  const Koa = require("koa") as typeof KoaModule;
  const { Router } = require("@koa/router") as typeof RouterModule;
  const { principalOf, protect } = require("scopegate/koa") as typeof koaAdapter;
  interface Context {
    readonly req: object;
    body: unknown;
  }
  const show = (route: string) => (context: Context) => {
    context.body = answer(route, principalOf(context));
  };
  const app = new Koa();
  const [agents, teams, files] = [new Router(), new Router(), new Router()];
  agents.get("/agents/public", (_context, next) => next());
  agents.get("/agents/:agent_id", show("/agents/:agent_id"));
  if (guard === "twice") teams.get("/teams/:team_id", protect(server), show("/teams/:team_id"));
  else teams.get("/teams/:team_id", show("/teams/:team_id"));
  teams.get("/teams/settings", show("/teams/settings"));
  files.get("/:file_id", show("/files/:file_id"));
  files.get("/latest", show("/files/latest"));
  teams.use("/files", files.routes());
  if (guard === "first" || guard === "twice") app.use(protect(server));
  app.use(agents.routes());
  if (guard === "late") app.use(protect(server));
  app.use(teams.routes());
  return {
    listen: (port) => app.listen(port),
    audit: () => auditRoutes(server, routesOf(app)),
    handlers: () => [agents, teams].flatMap((router) => router.stack.flatMap((layer) => layer.stack)),
  };
}

const create = framework === "koa" ? createKoa : createExpress;

/** The errors and warnings of an audit. A guard in another place must not change anything else. */
function audit(guard: GuardPlace): object {
  try {
    const { ok, findings } = create(guard).audit();
    const alarms = findings.filter(({ severity }) => severity !== "note");
    return { ok, alarms: alarms.map(({ severity, kind, message }) => `${severity} ${kind}: ${message}`) };
  } catch (error) {
    return { ok: false, alarms: [], thrown: String(error) };
  }
}

/** Requests between two measurements: enough to see a growth, too few to fill the call stack with it. */
const SENT_BETWEEN = 100;

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

async function get(port: number, path: string, token?: string): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = http.get({ host: "127.0.0.1", port, path, agent, headers });
  const [response] = (await events.once(request, "response")) as [httpModule.IncomingMessage];
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += String(chunk);
  const status = String(response.statusCode);
  return status === "200" ? `${status} ${body}` : status;
}

async function main(): Promise<void> {
  const tokenFor = (scopes: readonly string[]): Promise<string> => issuer.token({ scopes });
  const requests = await Promise.all(
    REQUESTS.map(async ({ path, enough, insufficient }) => ({
      path,
      allowed: await tokenFor(enough),
      refused: await Promise.all(insufficient.map(tokenFor)),
    })),
  );
  const application = create("first");
  const listening = application.listen(0);
  if (!listening.listening) await events.once(listening, "listening");
  const { port } = listening.address() as net.AddressInfo;

  /** Every path: with enough scopes, without a token, and with each insufficient set of scopes. */
  const askAll = async (): Promise<object> => {
    const answers: Record<string, readonly string[]> = {};
    for (const { path, allowed, refused } of requests) {
      const each: string[] = [];
      for (const token of [allowed, undefined, ...refused]) each.push(await get(port, path, token));
      answers[path] = each;
    }
    return answers;
  };
  const statuses: Record<string, number> = {};
  const repeated = requests.filter(({ path }) => repeatedPath === "all" || path === repeatedPath);
  const askAllowed = async (times: number): Promise<void> => {
    for (let sent = 0; sent < times; sent += repeated.length) {
      for (const { path, allowed } of repeated) {
        const status = (await get(port, path, allowed)).slice(0, 3);
        statuses[status] = (statuses[status] ?? 0) + 1;
        // Recording the call stack of every request would take minutes.
        if (status !== "200") return;
      }
    }
  };
  const token = await tokenFor(["agents:web:read"]);
  /**
   * Requests a route that is decided synchronously, so that the call stack of its handler includes the
   * router.
   */
  const measure = async () => {
    seen.isWanted = true;
    await get(port, "/agents/web", token);
    seen.isWanted = false;
    return { frames: seen.stack.split("\n"), handlers: application.handlers() };
  };

  const first = await askAll();
  // The first one verifies the token, and the others find it in the cache.
  await measure();
  const early = await measure();
  await askAllowed(SENT_BETWEEN);
  const { frames, handlers } = await measure();
  await askAllowed(Number(total) - SENT_BETWEEN);
  const last = await askAll();
  listening.close();
  agent.destroy();
  const packages = frames.map((frame) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(frame)?.[1]);
  const report = {
    first,
    last,
    statuses,
    addedFrames: frames.length - early.frames.length,
    replacedHandlers: handlers.filter((handler, index) => handler !== early.handlers[index]).length,
    isTraced: seen.isTraced,
    packagesOnStack: [...new Set(packages)].filter((name) => name !== undefined),
    audits: { first: audit("first"), none: audit("none"), late: audit("late"), twice: audit("twice") },
  };
  // A tracer may keep the process alive.
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit());
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
