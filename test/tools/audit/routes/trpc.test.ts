/** `routesOf` for tRPC. */
import { initTRPC, lazy } from "@trpc/server";
import { describe, expect, it } from "vitest";
import { audit, routesOf } from "scopegate/audit";
import { serverFor, written } from "./support.ts";

describe("routesOf for tRPC", () => {
  const t = initTRPC.create({ pathSeparator: "~" });
  const change = t.procedure.mutation(() => 1);
  const inner = t.router({ remove: change, deeper: lazy(() => Promise.resolve(t.router({ add: change }))) });
  const router = t.router({
    list: t.procedure.query(() => 1),
    ticks: t.procedure.subscription(async function* () {
      await Promise.resolve();
      yield 1;
    }),
    user: lazy(() => Promise.resolve(inner)),
    "a:b": change,
  });

  it("lists queries, subscriptions and mutations, those of lazy routers included", async () => {
    const routes = await routesOf(router, { prefix: "/api/trpc", pathSeparator: "~" });
    expect(written(routes)).toEqual([
      "GET /api/trpc/list",
      "GET /api/trpc/ticks",
      "POST /api/trpc/a\\:b",
      "POST /api/trpc/user~remove",
      "POST /api/trpc/user~deeper~add",
    ]);
  });

  it("lists POST for queries and subscriptions if the method may be overridden", async () => {
    const routes = await routesOf(router, { prefix: "/", allowMethodOverride: true });
    expect(written(routes.slice(0, 4))).toEqual(["GET /list", "POST /list", "GET /ticks", "POST /ticks"]);
  });

  it("causes an audit to find a procedure without a rule, and a rule without a procedure", async () => {
    const rules = { "GET /trpc/list": ["list:use"], "GET /trpc/gone": ["list:use"] };
    const routes = await routesOf(router, { prefix: "/trpc", pathSeparator: "~" });
    const { findings } = audit(serverFor(rules), routes);
    const unmapped = findings.flatMap((one) => (one.kind === "route_unmapped" ? [one.route.pattern] : []));
    expect(unmapped).toContain("/trpc/user~remove");
    expect(unmapped).not.toContain("/trpc/list");
    const unreached = findings.flatMap((one) => (one.kind === "rule_unreached" ? [one.rule.key] : []));
    expect(unreached).toContain("GET /trpc/gone");
    expect(unreached).not.toContain("GET /trpc/list");
  });

  it("rejects unknown options, and a missing prefix", async () => {
    const options = { prefix: "/trpc", allowMethodOveride: true };
    await expect(routesOf(router, options)).rejects.toThrow(
      "received unknown option `allowMethodOveride`. Did you mean `allowMethodOverride`?",
    );
    await expect(routesOf(router)).rejects.toThrow(/\{ prefix: "\/trpc" \}/);
  });
});
