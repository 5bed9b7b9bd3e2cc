/** The option `clients`, of the server and of an issuer, for JWTs and introspected tokens. */
import { describe, expect, it } from "vitest";
import { opaqueTokens } from "../../../src/capabilities/opaque/index.ts";
import { isClient } from "../../../src/capabilities/conditions/clients.ts";
import { clientOf } from "../../../src/core/token/clients.ts";
import { issuer, createServer, issuesOf, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";

const verdictOn = async (
  claims: Readonly<Record<string, unknown>>,
  options: Partial<ResourceServerOptions>,
) => verdictOf(createServer(options), await issuer.token({ scopes: [], ...claims }));

describe("the option `clients`", () => {
  const clients = ["console", "worker"];

  it.each([{ client_id: "console" }, { azp: "worker" }, { cid: "console", azp: "worker" }])(
    "accepts a token with %j",
    async (claims) => {
      expect(await verdictOn(claims, { clients })).toBe("accepted");
    },
  );

  it.each([
    {},
    { client_id: "other" },
    { client_id: "console", azp: "other" },
    { azp: ["console"] },
    { cid: null },
  ])("rejects a token with %j", async (claims) => {
    expect(await verdictOn(claims, { clients })).toBe("claims");
  });

  it("accepts any client if it is omitted", async () => {
    expect(await verdictOn({ client_id: "other" }, {})).toBe("accepted");
  });

  it("holds for each issuer on its own", async () => {
    const entry = (name: string, own: object) => ({
      issuer: name,
      verificationKeys: [issuer.publicPem],
      algorithms: ["RS256" as const],
      ...own,
    });
    const server = createResourceServer({
      serviceId: "agents-prod",
      clients,
      issuers: [entry("https://a.test", {}), entry("https://b.test", { clients: ["other"] })],
    });
    const verdict = async (iss: string, client_id: string) =>
      verdictOf(server, await issuer.token({ scopes: [], iss, client_id }));
    expect(await verdict("https://a.test", "console")).toBe("accepted");
    expect(await verdict("https://a.test", "other")).toBe("claims");
    expect(await verdict("https://b.test", "other")).toBe("accepted");
    expect(await verdict("https://b.test", "console")).toBe("claims");
  });

  it("holds for introspected tokens, and cannot be combined with API keys", async () => {
    const kind = (tokenKind: "introspected" | "api_key", claims: object) =>
      opaqueTokens({
        tokenKind,
        scopesClaim: "scope",
        matches: () => true,
        verify: () => ({ kind: "verified" as const, claims: { scope: "", ...claims } }),
      });
    const verdict = async (claims: object) =>
      verdictOf(
        createResourceServer({ serviceId: "a", clients, opaqueTokens: [kind("introspected", claims)] }),
        "opaque",
      );
    expect(await verdict({ client_id: "worker" })).toBe("accepted");
    expect(await verdict({ client_id: "other" })).toBe("claims");
    expect(await verdict({})).toBe("claims");
    expect(issuesOf({ serviceId: "a", clients, opaqueTokens: [kind("api_key", {})] })).toMatchObject([
      { code: "option_conflict", path: ["clients"] },
    ]);
  });
});

describe("a token with too many actors", () => {
  const nested = (depth: number): object =>
    depth === 0 ? {} : { act: { sub: `agent-${depth}`, ...nested(depth - 1) } };

  it("rejects it if more than eight acted", async () => {
    expect(await verdictOn({ sub: "u1", ...nested(8) }, {})).toBe("accepted");
    expect(await verdictOn({ sub: "u1", ...nested(9) }, {})).toBe("claims");
  });
});

describe("the client of a token", () => {
  it.each([
    [{ client_id: "a", azp: "b", cid: "c" }, "a"],
    [{ azp: "b", cid: "c" }, "b"],
    [{ cid: "c" }, "c"],
    [{ client_id: "", azp: "b" }, "b"],
    [{ client_id: ["a"], cid: "c" }, "c"],
    [{ client_id: null }, undefined],
    [{ sub: "a" }, undefined],
    [Object.create({ client_id: "a" }) as Record<string, unknown>, undefined],
  ])("of %j is the first claim that names one: %s", (claims, client) => {
    expect(clientOf({ claims })).toBe(client);
  });

  it.each([
    [{ client_id: "a" }, true],
    [{ client_id: "b", azp: "a" }, true],
    [{ cid: "a" }, true],
    [{ client_id: "b" }, false],
    [{}, false],
  ])("is the user `a` of the token, so that it has no user: %j %s", (claims, isUserless) => {
    expect(isClient("a", claims)).toBe(isUserless);
  });
});
