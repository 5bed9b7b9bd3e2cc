/** A handler receives only the tenant that a rule has read and compared with the token, however routes are written. */
import Router, { type RouterContext } from "@koa/router";
import { Hono } from "hono";
import { Hono as Hono48 } from "hono48";
import type { RequestHandler } from "express";
import Koa from "koa";
import mount from "koa-mount";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { protect as protectExpress } from "scopegate/express";
import { protect as protectFastify } from "scopegate/fastify";
import { protect as protectHono } from "scopegate/hono";
import { protect as protectKoa } from "scopegate/koa";
import { Router14 } from "../routing/configurations/koa-application.ts";
import {
  EXPRESS_VERSIONS,
  FASTIFY_VERSIONS,
  koaListener,
  serve,
  serveFastify,
  serverFor,
} from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";
import { ask } from "../support/http.ts";
import { issuer } from "../support/resource-servers.ts";

const where = { org: { claim: "org_id" } };
const BOUND: ScopeMappings = { "* /orgs/:org{/*path}": { scopes: [], where } };

/** Sends a request of a caller that may only read the data of one tenant. */
async function askAs(tenant: string, port: number, path: string) {
  const token = await issuer.token({ scopes: [`orgs:${tenant}:read`], org_id: tenant });
  const { status, text } = await ask(port, { path, token });
  return { status, text };
}

describe.each([
  ["15", Router, 200],
  ["14.0.0, which reads + as a space", Router14, 400],
])("a handler behind @koa/router %s", (_version, Version, status) => {
  type Run = (context: RouterContext) => void;
  type Write = (router: Router, run: Run) => unknown;
  const JSON_RULE: ScopeMappings = { "GET /orgs/:org.json": { scopes: [], where } };

  it.each<[form: string, rules: ScopeMappings, path: string, write: Write]>([
    ["a parameter", BOUND, "/orgs/a+b", (router, run) => router.get("/orgs/:org", run)],
    [
      "a scope",
      { "GET /orgs/:org": ["orgs:<org>:read"] },
      "/orgs/a+b",
      (router, run) => router.get("/orgs/:o", run),
    ],
    ["a wildcard of the route", BOUND, "/orgs/a+b", (router, run) => router.get("/orgs/*o", run)],
    ["an optional wildcard", BOUND, "/orgs/a+b", (router, run) => router.get("/orgs{/*o}", run)],
    ["a regular expression", BOUND, "/orgs/a+b", (router, run) => router.get(/^\/orgs\/([^/]+)$/, run)],
    [
      "a route for longer paths",
      BOUND,
      "/orgs/a+b",
      (router, run) => router.register("/orgs/:o", ["GET"], run, { end: false }),
    ],
    ["text before the parameter", BOUND, "/orgs/v-a+b", (router, run) => router.get("/orgs/v-:o", run)],
    [
      "text after the parameter of the rule",
      JSON_RULE,
      "/orgs/a+b.json",
      (router, run) => router.get("/orgs/:o", run),
    ],
    [
      "a nested router",
      BOUND,
      "/orgs/a+b/x",
      (router, run) => router.use("/orgs/:o", new Version().get("/x", run).routes()),
    ],
    [
      "a parameter of middleware",
      BOUND,
      "/orgs/a+b",
      (router, run) => router.use("/orgs/:o", (_, next) => next()).get(/^\/orgs\/[^/]+$/, run),
    ],
  ])("receives no + as a space if a rule reads it: %s", async (_form, rules, path, write) => {
    const received: unknown[] = [];
    const router = new Version();
    write(router, (context) => {
      received.push(context.params);
      context.body = "ran";
    });
    const app = new Koa().use(protectKoa(serverFor(rules)));
    app.use(router.routes() as Koa.Middleware);
    const port = await serve(koaListener(app));
    const tenant = path.startsWith("/orgs/v-") ? "v-a+b" : "a+b";
    expect((await askAs(tenant, port, path)).status).toBe(status);
    expect((await askAs(tenant, port, path.replace("+", "%2B"))).status).toBe(200);
    expect(JSON.stringify(received)).not.toContain("a b");
  });

  it("receives no + as a space below a prefix of koa-mount, and any value that no rule reads", async () => {
    const router = new Version().get("/orgs/:o/users/:user", (context) => {
      context.body = "ran";
    });
    const rules = { "GET /api/orgs/:org/users/:user": { scopes: [], where } };
    const app = new Koa().use(protectKoa(serverFor(rules)));
    const port = await serve(koaListener(app.use(mount("/api", router.routes() as Koa.Middleware))));
    expect((await askAs("a+b", port, "/api/orgs/a+b/users/c")).status).toBe(status);
    expect((await askAs("a", port, "/api/orgs/a/users/b+c")).status).toBe(200);
  });
});

it.each([
  ["returns 400", "/orgs/:o/:o(.*)", { status: 400 }],
  [
    "returns the tenant of the rule, without a repeated name,",
    "/orgs/:o/:p(.*)",
    { status: 200, text: '"a"' },
  ],
])("%s for a route of Express 4 that can't be read: %s", async (_, route, expected) => {
  const [, express] = EXPRESS_VERSIONS[0] ?? [];
  const app = express?.().use(protectExpress(serverFor(BOUND)));
  app?.get(route, ({ params }, response) => void response.json((params as { o?: string }).o));
  const port = await serve(app as never);
  expect(await askAs("a", port, "/orgs/a/b")).toMatchObject(expected);
});

type Serve = () => Promise<number>;

/** Each route gives its handler the parameter `org` of another place than the one that the rule reads. */
const REPEATED: readonly (readonly [route: string, serve: Serve])[] = [
  ...EXPRESS_VERSIONS.flatMap(([name, express]): (readonly [string, Serve])[] => {
    const run: RequestHandler = ({ params }, response) => void response.json(params["org"]);
    const below = (mount: string | RegExp, route: string | RegExp): Serve => {
      const router = express.Router({ mergeParams: true }).get(route, run);
      return () =>
        serve(
          express()
            .use(protectExpress(serverFor(BOUND)))
            .use(mount, router),
        );
    };
    return [
      [`/orgs/:org/x/:org in ${name}`, below("/", "/orgs/:org/x/:org")],
      [`/x/:org in a router at /orgs/:org in ${name}`, below("/orgs/:org", "/x/:org")],
      [`/x/:org in a router at a regular expression in ${name}`, below(/^\/orgs\/(?<org>[^/]+)/, "/x/:org")],
      [
        `a regular expression in a router at /orgs/:org in ${name}`,
        below("/orgs/:org", /^\/x\/(?<org>[^/]+)$/),
      ],
      [`a regular expression in ${name}`, below("/", /^\/orgs\/[^/]+\/x\/(?<org>[^/]+)$/)],
      ...(name === "Express 4" ? [[`/orgs/:org+ in ${name}`, below("/", "/orgs/:org+")] as const] : []),
      [`/orgs/v-:org/x/:org in ${name}`, below("/", "/orgs/v-:org/x/:org")],
    ];
  }),
  ...FASTIFY_VERSIONS.map(
    ([name, fastify]) =>
      [
        `/x/:org below the prefix /orgs/:org in ${name}`,
        async () => {
          const app = fastify();
          await app.register(protectFastify(serverFor(BOUND)));
          await app.register(
            (inner, _options, done) => {
              inner.get("/x/:org", ({ params }) => JSON.stringify((params as { org: string }).org));
              done();
            },
            { prefix: "/orgs/:org" },
          );
          return serveFastify(app);
        },
      ] as const,
  ),
  ...[Router, Router14].map(
    (Version) =>
      [
        `/orgs/:org/x/:org in @koa/router`,
        () => {
          const router = new Version().get("/orgs/:org/x/:org", (context) => {
            context.body = JSON.stringify(context.params["org"]);
          });
          return serve(
            koaListener(new Koa().use(protectKoa(serverFor(BOUND))).use(router.routes() as Koa.Middleware)),
          );
        },
      ] as const,
  ),
];

it.each(REPEATED)("a handler of %s receives no other tenant than the rule has read", async (route, start) => {
  const port = await start();
  const tenant = route.includes("v-:org") ? "v-a" : "a";
  expect((await askAs(tenant, port, `/orgs/${tenant}/x/b`)).status).toBe(400);
  expect(await askAs(tenant, port, `/orgs/${tenant}/x/${tenant}`)).toEqual({
    status: 200,
    text: `"${tenant}"`,
  });
});

it.each([
  ["4.13", Hono],
  ["4.8", Hono48 as unknown as typeof Hono],
])("a handler of Hono %s receives the first value of a repeated name", async (_version, Version) => {
  const LAST: ScopeMappings = { "GET /orgs/:id/x/:org": { scopes: [], where } };
  for (const [rules, tenant, status] of [
    [BOUND, "a", 200],
    [LAST, "b", 400],
  ] as const) {
    const app = new Version().use(protectHono(serverFor(rules)));
    app.get("/orgs/:org/x/:org", (context) => context.text(context.req.param("org")));
    expect(await askAs(tenant, await serve(listenerOf(app.fetch)), "/orgs/a/x/b")).toMatchObject({
      status,
      text: status === 200 ? "a" : (expect.any(String) as string),
    });
  }
});
