/** The option `conditions`, which lets rules require more of their caller than scopes. */
import { createResourceServer, type ScopeMappings } from "scopegate";
import { callerConditions, type CallerConditions } from "scopegate/conditions";
import { shadowTable } from "scopegate/shadow";
import { describe, expect, it } from "vitest";
import { issuer, thrownBy } from "../support/resource-servers.ts";

const table: ScopeMappings = {
  "GET /orgs/:org": { scopes: [], where: { org: { claim: "org_id" } } },
  "GET /admin": { scopes: [], acr: { anyOf: ["high"] } },
};
const options = {
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  now: () => 1_700_000_000_000,
};

describe("the option `conditions`", () => {
  const missing = {
    code: "option_missing",
    path: ["conditions"],
    message: "is missing, but `GET /orgs/:org` has conditions on its caller.",
    hint: "Write `conditions: callerConditions()`, imported from scopegate/conditions.",
  };

  it.each<readonly [string, object]>([
    ["the table", { scopeMappings: table }],
    ["the base table", { defaultScopeMappings: table }],
    ["the table of `shadow`", { shadow: shadowTable({ scopeMappings: table }) }],
  ])("is required by a rule with conditions, which is one mistake: %s", (_, tables) => {
    expect(thrownBy(() => createResourceServer({ ...options, ...tables })).issues).toEqual([missing]);
  });

  it("is required next to all other mistakes", () => {
    const scopeMappings = { ...table, "GET /a": ["a:"] };
    const { issues } = thrownBy(() => createResourceServer({ ...options, scopeMappings }));
    expect(issues).toMatchObject([missing, { path: ["scopeMappings", "GET /a", 0] }]);
  });

  it.each<readonly [string, unknown]>([
    ["a function that isn't called", callerConditions],
    ["a plain object", { language: 5 }],
    ["true", true],
  ])("must be a value of callerConditions: %s", (_, conditions) => {
    const create = () =>
      createResourceServer({
        ...options,
        scopeMappings: table,
        conditions: conditions as CallerConditions,
      });
    expect(thrownBy(create).issues).toMatchObject([
      {
        code: "option_invalid",
        path: ["conditions"],
        hint: expect.stringMatching(/^Write callerConditions\(\)/) as unknown,
      },
    ]);
  });

  it("isn't required by a table without conditions", async () => {
    const server = createResourceServer({ ...options, scopeMappings: { "GET /a": { scopes: ["a:read"] } } });
    expect(await server.check({ method: "GET", target: "/a" })).toMatchObject({ allowed: false });
  });

  it("decides in each server that is created from one value", async () => {
    const conditions = callerConditions();
    const authorization = `Bearer ${await issuer.token({ aud: "agents-prod", scopes: [], org_id: "acme" })}`;
    for (const org of ["acme", "globex"]) {
      const server = createResourceServer({ ...options, scopeMappings: table, conditions });
      const decision = await server.check({ method: "GET", target: `/orgs/${org}`, authorization });
      expect(decision.allowed).toBe(org === "acme");
    }
  });
});
