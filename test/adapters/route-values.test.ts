/**
 * Routes that are written in the syntax of their framework: the rule for every path that they may match is
 * required, and a handler receives only the values that the rule has read.
 */
import Router, { type RouterContext } from "@koa/router";
import type { RequestHandler } from "express";
import { Hono } from "hono";
import { Hono as Hono48 } from "hono48";
import Koa from "koa";
import mount from "koa-mount";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { Router14 } from "../routing/configurations/koa-application.ts";
import { RawClient } from "../routing/raw-client.ts";
import {
  EXPRESS_VERSIONS,
  FASTIFY_VERSIONS,
  koaListener,
  serve,
  serveFastify,
  serverFor,
  statusWith,
} from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";
import { ask } from "../support/http.ts";
import { issuer } from "../support/resource-servers.ts";

/** Serves one route, whose handler responds with its parameter `org`. */
type Start = (rules: ScopeMappings, route: string | RegExp, mountPath?: string | RegExp) => Promise<number>;

const inExpress =
  ([, express]: (typeof EXPRESS_VERSIONS)[number]): Start =>
  (rules, route, mountPath = "/") => {
    const respond: RequestHandler = ({ params }, response) => void response.json(params["org"] ?? "none");
    const app = express().use(forExpress.protect(serverFor(rules)));
    if (mountPath === "/") return serve(app.get(route, respond));
    return serve(app.use(mountPath, express.Router({ mergeParams: true }).get(route, respond)));
  };

const inFastify =
  ([, create]: (typeof FASTIFY_VERSIONS)[number]): Start =>
  async (rules, route, prefix = "") => {
    const app = create();
    await app.register(forFastify.protect(serverFor(rules)));
    await app.register(
      (inner, _options, done) => {
        inner.get(route as string, ({ params }) =>
          JSON.stringify((params as { org?: string }).org ?? "none"),
        );
        done();
      },
      { prefix: prefix as string },
    );
    return serveFastify(app);
  };

const inKoa =
  (Version: typeof Router): Start =>
  (rules, route) => {
    const router = new Version().get(route, (context) => {
      context.body = JSON.stringify(context.params["org"] ?? "none");
    });
    const app = new Koa().use(forKoa.protect(serverFor(rules))).use(router.routes() as Koa.Middleware);
    return serve(koaListener(app));
  };

const inHono =
  (Version: typeof Hono): Start =>
  (rules, route) => {
    const app = new Version().use(forHono.protect(serverFor(rules)));
    app.get(route as string, (context) => context.text(JSON.stringify(context.req.param("org") ?? "none")));
    return serve(listenerOf(app.fetch));
  };

const [EXPRESS_4, EXPRESS_5] = EXPRESS_VERSIONS.map(inExpress) as [Start, Start];

describe("a route that may match every path", () => {
  it.each<[route: string | RegExp, framework: string, start: Start]>([
    ...["/*splat", "*splat", "{*splat}", "{/*splat}", "{/:a}", "{/:a}{/:b}", /^\/h/].map(
      (route): [string | RegExp, string, Start] => [route, "Express 5", EXPRESS_5],
    ),
    ...["/:a?", "/:a?/:b?", "/:a(.*)", "/:a(*)", "/:p(.+)", "/(:x)", "/:x/?", "/*?"].map(
      (route): [string, string, Start] => [route, "Express 4", EXPRESS_4],
    ),
    ...["{/:a}", "{/*splat}", "{/:a}{/:b}"].map((route): [string, string, Start] => [
      route,
      "Koa",
      inKoa(Router),
    ]),
    ...FASTIFY_VERSIONS.map((version): [string, string, Start] => ["/:x?", version[0], inFastify(version)]),
    ...["/:x{.+}", "/:x{[^/]+}"].map((route): [string, string, Start] => [route, "Hono", inHono(Hono)]),
  ])(
    "requires the rule for all paths, although a public rule is narrower: %s in %s",
    async (route, _, start) => {
      const port = await start({ "GET /health": "public", "GET /{*path}": ["files:read"] }, route);
      expect(await statusWith(port, "/health", undefined)).toBe(401);
      expect(await statusWith(port, "/health", [])).toBe(403);
      expect(await statusWith(port, "/health", ["files:read"])).toBe(200);
    },
  );
});

it.each(FASTIFY_VERSIONS)(
  "refuses a target with a query after the host, because find-my-way before 9.9 reads another path: %s",
  async (...version) => {
    const client = new RawClient(await inFastify(version)({ "GET /{*path}": "public" }, "/*"));
    onTestFinished(() => client.close());
    for (const target of ["http://h?/admin/x.txt", "http://h?a/admin", "http://h?%2fadmin"]) {
      const { status } = await client.ask({ method: "GET", target, headers: [["host", "h"]] });
      expect(status, target).toBe(400);
    }
  },
);

const where = { org: { claim: "org_id" } };
const BOUND: ScopeMappings = { "* /orgs/:org{/*path}": { scopes: [], where } };

/** Sends a request of a caller that may only read the data of one tenant. */
async function askAs(tenant: string, port: number, path: string) {
  const token = await issuer.token({ scopes: [`orgs:${tenant}:read`], org_id: tenant });
  const { status, text } = await ask(port, { path, token });
  return status === 200 ? text : status;
}

describe.each([
  ["15", Router, 200],
  ["14.0.0, which reads + as a space", Router14, 400],
])("a handler behind @koa/router %s", (_version, Version, status) => {
  type Run = (context: RouterContext) => void;
  const passOn = (_context: unknown, next: () => unknown) => next();

  it.each<[form: string, write: (router: Router, run: Run) => unknown, path?: string, rules?: ScopeMappings]>(
    [
      ["a parameter", (router, run) => router.get("/orgs/:org", run)],
      [
        "a scope",
        (router, run) => router.get("/orgs/:o", run),
        "/orgs/a+b",
        { "GET /orgs/:org": ["orgs:<org>:read"] },
      ],
      ["a wildcard of the route", (router, run) => router.get("/orgs/*o", run)],
      ["an optional wildcard", (router, run) => router.get("/orgs{/*o}", run)],
      ["a regular expression", (router, run) => router.get(/^\/orgs\/([^/]+)$/, run)],
      [
        "a route for longer paths",
        (router, run) => router.register("/orgs/:o", ["GET"], run, { end: false }),
      ],
      ["text before the parameter", (router, run) => router.get("/orgs/v-:o", run), "/orgs/v-a+b"],
      [
        "text after the parameter of the rule",
        (router, run) => router.get("/orgs/:o", run),
        "/orgs/a+b.json",
        { "GET /orgs/:org.json": { scopes: [], where } },
      ],
      [
        "a nested router",
        (router, run) => router.use("/orgs/:o", new Version().get("/x", run).routes()),
        "/orgs/a+b/x",
      ],
      [
        "a parameter of middleware",
        (router, run) => router.use("/orgs/:o", passOn).get(/^\/orgs\/[^/]+$/, run),
      ],
    ],
  )(
    "receives no + as a space if a rule reads it: %s",
    async (_form, write, path = "/orgs/a+b", rules = BOUND) => {
      const received: unknown[] = [];
      const router = new Version();
      write(router, (context) => {
        received.push(context.params);
        context.body = "ran";
      });
      const app = new Koa().use(forKoa.protect(serverFor(rules))).use(router.routes() as Koa.Middleware);
      const port = await serve(koaListener(app));
      const tenant = path.startsWith("/orgs/v-") ? "v-a+b" : "a+b";
      expect(await askAs(tenant, port, path)).toBe(status === 200 ? "ran" : status);
      expect(await askAs(tenant, port, path.replace("+", "%2B"))).toBe("ran");
      expect(JSON.stringify(received)).not.toContain("a b");
    },
  );

  it("receives no + as a space below a prefix of koa-mount, and any value that no rule reads", async () => {
    const router = new Version().get("/orgs/:o/users/:user", (context) => void (context.body = "ran"));
    const app = new Koa().use(
      forKoa.protect(serverFor({ "GET /api/orgs/:org/users/:user": { scopes: [], where } })),
    );
    const port = await serve(koaListener(app.use(mount("/api", router.routes() as Koa.Middleware))));
    expect(await askAs("a+b", port, "/api/orgs/a+b/users/c")).toBe(status === 200 ? "ran" : status);
    expect(await askAs("a", port, "/api/orgs/a/users/b+c")).toBe("ran");
  });
});

/** Each route gives its handler the parameter `org` of another place than the one that the rule reads. */
const PLACES: readonly (readonly [route: string | RegExp, mountPath?: string | RegExp])[] = [
  ["/orgs/:org/x/:org"],
  ["/orgs/v-:org/x/:org"],
  ["/x/:org", "/orgs/:org"],
  ["/x/:org", /^\/orgs\/(?<org>[^/]+)/],
  [/^\/x\/(?<org>[^/]+)$/, "/orgs/:org"],
  [/^\/orgs\/[^/]+\/x\/(?<org>[^/]+)$/],
];

type Repeating = readonly [
  framework: string,
  route: unknown,
  mountPath: string | RegExp | undefined,
  start: Start,
];

const REPEATING: readonly Repeating[] = [
  ...EXPRESS_VERSIONS.flatMap((version) =>
    PLACES.map(([route, mountPath]): Repeating => [version[0], route, mountPath, inExpress(version)]),
  ),
  ["Express 4", "/orgs/:org+", undefined, EXPRESS_4],
  ...FASTIFY_VERSIONS.map((version): Repeating => [version[0], "/x/:org", "/orgs/:org", inFastify(version)]),
  ["Koa", "/orgs/:org/x/:org", undefined, inKoa(Router)],
  ["Koa with @koa/router 14.0.0", "/orgs/:org/x/:org", undefined, inKoa(Router14)],
];

it.each(REPEATING)(
  "a handler of %s receives no other tenant than the rule has read: %s below %s",
  async (_, route, mountPath, start) => {
    const port = await start(BOUND, route as string | RegExp, mountPath);
    const tenant = String(route).includes("v-:org") ? "v-a" : "a";
    expect(await askAs(tenant, port, `/orgs/${tenant}/x/b`)).toBe(400);
    expect(await askAs(tenant, port, `/orgs/${tenant}/x/${tenant}`)).toBe(`"${tenant}"`);
  },
);

/** The rule reads the second value of the name, which Hono does not give to handlers. */
const LAST: ScopeMappings = { "GET /orgs/:id/x/:org": { scopes: [], where } };
const [HONO, HONO_48] = [inHono(Hono), inHono(Hono48 as unknown as typeof Hono)];

interface Outcome {
  readonly rules: ScopeMappings;
  readonly tenant: string;
  readonly outcome: unknown;
}

it.each<[framework: string, route: string, expected: Outcome, start: Start]>([
  ["Hono", "/orgs/:org/x/:org", { rules: BOUND, tenant: "a", outcome: '"a"' }, HONO],
  ["Hono", "/orgs/:org/x/:org", { rules: LAST, tenant: "b", outcome: 400 }, HONO],
  ["Hono 4.8", "/orgs/:org/x/:org", { rules: BOUND, tenant: "a", outcome: '"a"' }, HONO_48],
  ["Hono 4.8", "/orgs/:org/x/:org", { rules: LAST, tenant: "b", outcome: 400 }, HONO_48],
  // A route that can't be read.
  ["Express 4", "/orgs/:org/:org(.*)", { rules: BOUND, tenant: "a", outcome: 400 }, EXPRESS_4],
  ["Express 4", "/orgs/:org/:p(.*)", { rules: BOUND, tenant: "a", outcome: '"a"' }, EXPRESS_4],
])("a handler of %s receives at %s only the tenant of the rule: %j", async (_, route, expected, start) => {
  const port = await start(expected.rules, route);
  expect(await askAs(expected.tenant, port, "/orgs/a/x/b")).toBe(expected.outcome);
});
