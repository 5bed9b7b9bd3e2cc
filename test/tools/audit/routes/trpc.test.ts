/** `routesOf` for tRPC. */
import { initTRPC, lazy } from "@trpc/server";
import { describe, expect, it } from "vitest";
import { routesOf } from "scopegate/audit";
import { written } from "./support.ts";

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

  it("rejects unknown options, and a missing prefix", async () => {
    const options = { prefix: "/trpc", allowMethodOveride: true };
    await expect(routesOf(router, options)).rejects.toThrow(
      "received unknown option `allowMethodOveride`. Did you mean `allowMethodOverride`?",
    );
    await expect(routesOf(router)).rejects.toThrow(/\{ prefix: "\/trpc" \}/);
  });
});
