/** Two installed copies of the package that guard one request, and handlers that use the copy that does not guard. */
import Router from "@koa/router";
import express5 from "express";
import Koa from "koa";
import { describe, expect, it, vi } from "vitest";
import type { Principal } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import { askWith, EXPRESS_VERSIONS, koaListener, serve, statusWith } from "../support/frameworks.ts";
import { issuersOf } from "../../src/tools/shared/issuers.ts";
import { issuer } from "../support/resource-servers.ts";
import { createResourceServer } from "../support/server.ts";

vi.resetModules();
const other = {
  core: await import("scopegate"),
  forExpress: await import("scopegate/express"),
  forKoa: await import("scopegate/koa"),
};

const options = {
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /agents/list": ["agents:list"], "GET /agents/:id": ["agents:read"] },
};
const one = createResourceServer(options);
const two = other.core.createResourceServer(options);

/** Guards with one copy or with both, and answers with what each copy's `principalOf` returns or throws. */
type Start = (copies: "one" | "both") => Promise<number>;

function describeCallers(...find: readonly (() => Principal | undefined)[]): readonly unknown[] {
  return find.map((principalOf) => {
    try {
      return principalOf()?.userId;
    } catch (fault) {
      return String(fault);
    }
  });
}

const startExpress =
  (express: typeof express5): Start =>
  (copies) => {
    const app = express();
    app.use(forExpress.protect(one));
    if (copies === "both") app.use(other.forExpress.protect(two));
    app.get("/agents/:id", (request, response) => {
      response.json(
        describeCallers(
          () => forExpress.principalOf(request),
          () => other.forExpress.principalOf(request),
        ),
      );
    });
    return serve(app);
  };

const startKoa: Start = (copies) => {
  const app = new Koa().use(forKoa.protect(one));
  if (copies === "both") app.use(other.forKoa.protect(two));
  const router = new Router().get("/agents/:id", (context) => {
    context.body = describeCallers(
      () => forKoa.principalOf(context),
      () => other.forKoa.principalOf(context),
    );
  });
  return serve(koaListener(app.use(router.routes())));
};

const TWO_COPIES =
  "Error: Another copy of scopegate guards this request, so this copy doesn't know its caller. Run `npm ls scopegate`, and install one version for the guard and the handlers.";

describe.each<readonly [string, Start]>([
  ...EXPRESS_VERSIONS.map(([name, express]) => [name, startExpress(express)] as [string, Start]),
  ["Koa", startKoa],
])("two copies of the package in %s", (_, start) => {
  it("guard one request, each with the rule for its path and for its route", async () => {
    const port = await start("both");
    for (let round = 0; round < 2; round++) {
      expect(await statusWith(port, "/agents/web")).toBe(401);
      expect(await statusWith(port, "/agents/web", [])).toBe(403);
      const allowed = await askWith(port, "/agents/web", ["agents:read"]);
      expect(allowed).toMatchObject({ status: 200, body: ["user-1", "user-1"] });
      expect(await statusWith(port, "/agents/list", ["agents:list"])).toBe(403);
    }
  });

  it("throw an error if a handler imports the copy that does not guard its request", async () => {
    const { body } = await askWith(await start("one"), "/agents/web", ["agents:read"]);
    expect(body).toEqual(["user-1", TWO_COPIES]);
  });
});

it("reports another copy in requireScopes", async () => {
  const app = express5();
  app.use(forExpress.protect(one));
  const faults: string[] = [];
  const onFault: express5.ErrorRequestHandler = (fault, _request, response, _next) => {
    faults.push(String(fault));
    response.status(500).end();
  };
  app.get("/agents/:id", other.forExpress.requireScopes("agents:read"), () => undefined).use(onFault);
  expect(await statusWith(await serve(app), "/agents/web", ["agents:read"])).toBe(500);
  expect(faults).toEqual([TWO_COPIES]);
});

it("gives tools of one copy the issuers of a server of the other, for messages about rejected tokens", () => {
  for (const server of [one, two])
    expect(issuersOf(server).map(({ token }) => token.audience)).toEqual([["agents-prod"]]);
});
