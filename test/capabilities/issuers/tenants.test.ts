/** The tenant of an issuer, and the ceiling of its scopes: in fixed lists and in records that are found. */
import { describe, expect, it, vi } from "vitest";
import { createResourceServer, type ResourceServerOptions } from "scopegate";
import { apiKeyStore, apiKeys, createApiKey } from "scopegate/api-keys";
import { memoryStore } from "scopegate/store";
import { callerConditions } from "scopegate/conditions";
import { parseConfiguration } from "scopegate/complete";
import { decisionLog } from "scopegate/decision-log";
import { explain } from "scopegate/explain";
import { introspection } from "scopegate/introspection";
import { issuersOf } from "../../../src/tools/shared/issuers.ts";
import { mistakesOf, thrownBy } from "../../support/resource-servers.ts";
import { collectWarnings, createFinding, createTenant, START, TABLE, type Tenant } from "./support.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

/** The same record in a fixed list and in `issuersFrom`. */
const WAYS = ["issuers", "issuersFrom"] as const;
type Way = (typeof WAYS)[number];
type Entry = Partial<Tenant["record"]>;
type Options = Partial<ResourceServerOptions>;

const ACTIVE = { active: true, token_type: "Bearer", scope: "orgs:read" };
const READER = { scopes: ["orgs:read"] };

/** A tenant whose record lacks some properties. */
function createLacking(name: string, ...lacking: readonly (keyof Tenant["record"])[]): Tenant {
  const tenant = createTenant(name);
  const entries = Object.entries(tenant.record).filter(([key]) => !lacking.includes(key as never));
  return { ...tenant, record: Object.fromEntries(entries) as unknown as Tenant["record"] };
}

const serve = (way: Way, tenants: readonly Tenant[], options: Options = {}) =>
  way === "issuers"
    ? createFinding([], { options: { issuers: tenants.map(({ record }) => record), ...options } })
    : createFinding(tenants, { options });

/** Returns what a token of a tenant with this record gets. */
async function answerOf(
  way: Way,
  record: Entry,
  token: { readonly scopes?: readonly string[]; readonly claims?: object },
  { target = "/orgs/acme", ...options }: Options & { readonly target?: string } = {},
): Promise<string> {
  const tenant = createTenant("acme", record);
  return serve(way, [tenant], options).answer(await tenant.issuer.token(token as object), target);
}

const scopeMappings = {
  "* /orgs/:org{/*path}": {
    scopes: ["orgs:read"],
    where: { org: { tenant: true } },
    unless: ["orgs:cross"],
  },
} as const;

describe.each(WAYS)("the tenant of an issuer in %s", (way) => {
  it.each([
    ["/orgs/acme", "200"],
    ["/orgs/globex", "403 caller_not_allowed"],
    ["/orgs/Acme", "403 caller_not_allowed"],
  ])(
    "is the value of a parameter for `{ tenant: true }`, whatever the token claims: %s",
    async (target, expected) => {
      const claims = { tenant: "globex", org: "globex", org_id: "globex" };
      expect(await answerOf(way, {}, { ...READER, claims }, { target })).toBe(expected);
    },
  );

  it("isn't met by an issuer without a tenant", async () => {
    const [acme, globex] = [createLacking("acme", "tenant"), createTenant("globex")];
    const { answer } = serve(way, [acme, globex]);
    expect(await answer(await globex.issuer.token(READER), "/orgs/globex")).toBe("200");
    const token = await acme.issuer.token(READER);
    for (const target of ["/orgs/acme", "/orgs/undefined", "/orgs/null"])
      expect(await answer(token, target)).toBe("403 caller_not_allowed");
  });

  const impliedScopes = { "orgs:write": ["orgs:read", "orgs:cross"] };

  const [READ, CROSS] = [["orgs:read"], ["orgs:read", "orgs:cross"]];
  it.each([
    { org: "globex", status: "403 caller_not_allowed", ceiling: READ, granted: CROSS },
    { org: "globex", status: "200", ceiling: CROSS, granted: CROSS },
    // Granted only by implication: the ceiling doesn't name it.
    { org: "globex", status: "403 caller_not_allowed", ceiling: ["orgs:write"], granted: ["orgs:write"] },
    { org: "acme", status: "200", ceiling: ["orgs:write"], granted: ["orgs:write"] },
  ])(
    "is lifted by `unless` only if the ceiling names its scope: $status for $org with $granted of $ceiling",
    async ({ org, status, ceiling, granted }) => {
      const options = { scopeMappings, target: `/orgs/${org}`, impliedScopes };
      expect(await answerOf(way, { scopes: ceiling }, { scopes: granted }, options)).toBe(status);
    },
  );
});

describe("`unless` for an issuer with a tenant in a fixed list", () => {
  const CROSS = { scopes: ["orgs:read", "orgs:cross"] };

  it("lifts nothing without a ceiling", async () => {
    const tenant = createLacking("acme", "scopes");
    const { answer } = serve("issuers", [tenant], { scopeMappings });
    const token = await tenant.issuer.token(CROSS);
    expect(await answer(token, "/orgs/globex")).toBe("403 caller_not_allowed");
    expect(await answer(token, "/orgs/acme")).toBe("200");
  });

  it("lifts it for another issuer without a tenant, such as the operator's own", async () => {
    const own = createLacking("own", "tenant", "scopes");
    const { answer } = serve("issuers", [own, createTenant("acme")], { scopeMappings });
    expect(await answer(await own.issuer.token(CROSS), "/orgs/globex")).toBe("200");
    expect(await answer(await own.issuer.token(READER), "/orgs/globex")).toBe("403 caller_not_allowed");
  });
});

/** The ceiling, the scopes of the token, and those that are left. */
const CEILINGS: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
  [["orgs:read"], ["orgs:read", "orgs:write"], ["orgs:read"]],
  [["orgs:read"], ["orgs:acme:read", "orgs:*:read"], ["orgs:acme:read", "orgs:*:read"]],
  [
    ["orgs:acme:read"],
    ["orgs:acme:read", "orgs:globex:read", "orgs:read", "orgs:*:read"],
    ["orgs:acme:read"],
  ],
  [["orgs:*:read"], ["orgs:read", "orgs:acme:read"], ["orgs:read", "orgs:acme:read"]],
  [[], ["orgs:read", "x"], []],
  [["openid"], ["openid", "OPENID", "openid:x"], ["openid"]],
  [["orgs:read"], ["orgs::read", "orgs:read:", ":orgs:read", "orgs:read ", "*", "orgs:acme:x:read"], []],
  [["orgs:write"], ["orgs:read"], []],
];

describe.each(WAYS)("the ceiling of an issuer in %s", (way) => {
  it.each(CEILINGS)("of %j reduces the scopes %j to %j", async (ceiling, granted, left) => {
    const tenant = createTenant("acme", { scopes: ceiling });
    const { server } = serve(way, [tenant]);
    const principal = await server.authenticate(await tenant.issuer.token({ claims: { scopes: granted } }));
    expect(principal.scopes).toEqual(left);
    expect(principal.claims["scopes"]).toEqual(granted);
    for (const scope of granted.filter((each) => !left.includes(each)))
      expect(principal.has(scope)).toBe(false);
  });

  it("applies after `map`", async () => {
    const scopeSources = [{ claim: "roles", map: { boss: ["orgs:read", "orgs:write"] } }];
    const tenant = createTenant("acme", { scopeSources });
    const { server } = serve(way, [tenant]);
    const principal = await server.authenticate(await tenant.issuer.token({ claims: { roles: ["boss"] } }));
    expect(principal.scopes).toEqual(["orgs:read"]);
  });

  it("applies before implied scopes", async () => {
    const impliedScopes = { "orgs:admin": ["orgs:read"], "orgs:read": ["orgs:list"] };
    const tenant = createTenant("acme");
    const { server } = serve(way, [tenant], { impliedScopes });
    const read = await server.authenticate(await tenant.issuer.token({ scopes: ["orgs:read"] }));
    expect(read.has("orgs:list")).toBe(true);
    const admin = await server.authenticate(await tenant.issuer.token({ scopes: ["orgs:admin"] }));
    expect([admin.scopes, admin.has("orgs:read")]).toEqual([[], false]);
  });
});

describe("the admin scope", () => {
  const adminScope = "platform:admin";

  it.each([
    [[adminScope], "200"],
    [["platform:*:admin"], "403 scope_insufficient"],
    [["orgs:read"], "403 scope_insufficient"],
  ])("is granted by an issuer of a fixed list if its ceiling names it: %j, %s", async (scopes, expected) => {
    expect(await answerOf("issuers", { scopes }, { scopes: [adminScope] }, { adminScope })).toBe(expected);
  });

  it("is granted by an issuer of a fixed list without a ceiling", async () => {
    const tenant = createLacking("acme", "scopes");
    const { answer } = serve("issuers", [tenant], { adminScope });
    expect(await answer(await tenant.issuer.token({ scopes: [adminScope] }))).toBe("200");
  });

  it.each([
    ["named", { scopes: [adminScope, "orgs:list"] }, { scopes: [adminScope] }, {}],
    ["by a wildcard", { scopes: ["platform:*:admin"] }, { scopes: [adminScope] }, {}],
    ["implied", { scopes: ["root"] }, { scopes: ["root"] }, { impliedScopes: { root: [adminScope] } }],
    [
      "implied for an id",
      { scopes: ["r:x"] },
      { scopes: ["r:1:x"] },
      { impliedScopes: { "r:x": ["r:y"], "r:1:y": [adminScope] } },
    ],
    [
      "by a map",
      { scopes: [adminScope], scopeSources: [{ claim: "roles", map: { root: [adminScope] } }] },
      { claims: { roles: ["root"] } },
      {},
    ],
  ])("is never granted by a record of find: %s", async (_, record, token, options) => {
    collectWarnings();
    expect(await answerOf("issuersFrom", record, token, { adminScope, ...options })).toBe(
      "403 scope_insufficient",
    );
  });

  it("has no effect in a record of find, which is a warning", async () => {
    const warnings = collectWarnings();
    await answerOf("issuersFrom", { scopes: [adminScope] }, { scopes: [] }, { adminScope });
    expect(warnings.join()).toContain("names the admin scope, which no record can grant. Remove it.");
  });
});

describe("`{ tenant: true }` in a table", () => {
  const acme = createTenant("acme");
  const base = { serviceId: "agents-prod", conditions: callerConditions(), now: () => START };
  const plain = createLacking("acme", "tenant").record;

  it("is an error if no trust record can have a tenant", () => {
    for (const issuers of [
      { issuers: [plain] },
      { issuer: "a", keys: plain.keys as never, algorithm: "ES256" as const },
    ]) {
      const { issues } = thrownBy(() => createResourceServer({ ...base, ...issuers, scopeMappings: TABLE }));
      expect(issues).toMatchObject([
        { code: "condition_conflict", path: ["scopeMappings", "* /orgs/:org{/*path}", "where", "org"] },
      ]);
      expect(issues[0]?.hint).toContain("scopegate/issuers");
    }
  });

  it.each([
    [{ tenant: true, issuer: "a" }],
    [{ tenant: false }],
    [{ tenant: "acme" }],
    [{ tenant: true, claim: "a" }],
    [[{ tenant: true }, {}]],
  ])("is an error in the form %j", (source) => {
    const scopeMappings = { "GET /orgs/:org": { scopes: [], where: { org: source as never } } };
    expect(
      mistakesOf(() => createResourceServer({ ...base, issuers: [acme.record], scopeMappings })),
    ).toEqual([["condition_invalid", "scopeMappings", "GET /orgs/:org", "where", "org"]]);
  });

  it("can be combined with a claim of another issuer", async () => {
    const own = createLacking("own", "tenant");
    const where = { org: [{ tenant: true }, { claim: "org_id", issuer: own.record.issuer }] } as const;
    const scopeMappings = { "GET /orgs/:org": { scopes: ["orgs:read"], where } };
    const { answer } = serve("issuers", [own, acme], { scopeMappings });
    const tokenWith = ({ issuer }: Tenant, org_id: string) => issuer.token({ ...READER, claims: { org_id } });
    expect(await answer(await tokenWith(own, "acme"))).toBe("200");
    expect(await answer(await tokenWith(acme, "globex"), "/orgs/globex")).toBe("403 caller_not_allowed");
  });

  it("makes a claim without an issuer an error with issuersFrom", () => {
    const scopeMappings = { "GET /orgs/:org": { scopes: [], where: { org: { claim: "org_id" } } } };
    const issue = thrownBy(() => createFinding([], { options: { scopeMappings } })).issues[0];
    expect(issue).toMatchObject({
      code: "condition_conflict",
      hint: expect.stringContaining("{ tenant: true }") as unknown,
    });
    const named = {
      "GET /orgs/:org": { scopes: [], where: { org: { claim: "org_id", issuer: "https://a.example" } } },
    };
    expect(() => createFinding([], { options: { scopeMappings: named } })).not.toThrow();
  });

  it("isn't met by API keys and introspected tokens", async () => {
    const store = apiKeyStore(memoryStore());
    const { key, record } = createApiKey({
      prefix: "acme_",
      name: "key",
      scopes: ["orgs:read"],
      ownerId: "u",
    });
    await store.add(record);
    const fetch = () =>
      Promise.resolve(
        Response.json({ ...ACTIVE, iss: acme.record.issuer, aud: "agents-prod", tenant: "acme" }),
      );
    const client = { id: "c", secret: "a-secret-of-the-client", method: "client_secret_basic" } as const;
    const opaqueTokens = [
      apiKeys({ prefix: "acme_", find: store.find }),
      introspection({ url: "https://login.acme.example/introspect", client, fetch }),
    ];
    for (const issuers of [{}, { issuers: [acme.record] }]) {
      const { answer } = createFinding([acme], { options: { ...issuers, opaqueTokens, now: Date.now } });
      for (const token of [key, "opaque"]) expect(await answer(token)).toBe("403 caller_not_allowed");
    }
  });

  it("is described in explanations", () => {
    const { server } = createFinding([acme]);
    const { text } = explain(server, { method: "GET", path: "/orgs/acme", scopes: ["orgs:read"] });
    expect(text).toContain("condition  org is the tenant of the issuer");
  });

  it("is a value of `principal.values`, for lists", async () => {
    const { server } = createFinding([acme]);
    const principal = await server.authenticate(await acme.issuer.token());
    expect([...principal.values({ tenant: true })]).toEqual(["acme"]);
  });

  it("can't be set by a polluted prototype", async () => {
    const globex = createLacking("globex", "tenant");
    const { answer, server } = createFinding([globex]);
    const token = await globex.issuer.token(READER);
    const expectNone = async () => {
      expect(await answer(token)).toBe("403 caller_not_allowed");
      expect(Object.hasOwn(await server.authenticate(token), "tenant")).toBe(false);
    };
    await withPollution({ tenant: "acme" }, expectNone, { isEnumerable: false });
  });

  it("is possible in a JSON file, with `tenant` and `scopes` of an issuer", () => {
    const { issuers, scopeMappings } = parseConfiguration({
      service_id: "a",
      issuers: [
        {
          issuer: "https://a.example",
          algorithms: ["RS256"],
          keys: { discovery: true },
          tenant: "acme",
          scopes: ["orgs:read"],
        },
      ],
      scope_mappings: { "GET /orgs/:org": { scopes: [], where: { org: { tenant: true } } } },
    });
    expect(issuers?.[0]).toMatchObject({ tenant: "acme", scopes: ["orgs:read"] });
    expect(scopeMappings).toEqual({ "GET /orgs/:org": { scopes: [], where: { org: { tenant: true } } } });
  });

  it("isn't an option of the server itself", () => {
    const options = {
      ...base,
      issuer: "a",
      keys: plain.keys as never,
      algorithm: "ES256" as const,
      tenant: "acme",
    };
    expect(mistakesOf(() => createResourceServer(options as never))).toEqual([["option_unknown", "tenant"]]);
  });

  it("can't name a scope outside of `knownScopes`", () => {
    const options = { ...base, issuers: [acme.record], knownScopes: ["agents:read"] };
    expect(mistakesOf(() => createResourceServer(options))).toEqual([
      ["scope_unknown", "issuers", 0, "scopes"],
    ]);
    expect(issuersOf(createResourceServer({ ...base, issuers: [acme.record] }))).toHaveLength(1);
  });
});

it("writes the tenant of the caller to the decision log", async () => {
  const lines: string[] = [];
  const acme = createTenant("acme");
  const onDecision = decisionLog((line) => void lines.push(line));
  const { answer } = createFinding([acme], { options: { onDecision } });
  await answer(await acme.issuer.token({ scopes: ["orgs:read"] }));
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ issuer: acme.record.issuer, tenant: "acme" });
});
