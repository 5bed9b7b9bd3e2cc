/** An identifier with parameters: each tenant is a resource of its own. */
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { metadata, withScopes } from "scopegate/fetch";
import { protectedResource } from "scopegate/resource";
import { issuer, thrownBy } from "../support/resource-servers.ts";

type Options = Parameters<typeof createResourceServer>[0];

const ORIGIN = "https://api.example";
const ID = `${ORIGIN}/t/:org/mcp`;
const WELL_KNOWN = "/.well-known/oauth-protected-resource";

const create = (options: Partial<Options> = {}, id = ID) =>
  createResourceServer({
    issuer: "https://login.example/",
    verificationKeys: [issuer.publicPem],
    resource: protectedResource({ id }),
    scopeMappings: { "* /{*path}": ["docs:read"], "GET /open": "public" },
    ...options,
  });

const tokenFor = (aud: unknown, claims: object = {}) =>
  issuer.token({ iss: "https://login.example/", aud, scopes: ["docs:read"], ...claims });

/** Returns the reason of the refusal and the rejection of the token, or `allowed`. */
async function ask(server: ReturnType<typeof create>, target: string, aud: unknown): Promise<string> {
  const authorization = `Bearer ${await tokenFor(aud)}`;
  const decision = await server.check({ method: "GET", target, authorization });
  return decision.allowed ? "allowed" : `${decision.reason} ${decision.rejection ?? ""}`.trim();
}

describe("a token for a resource of a template", () => {
  const server = create();
  const acme = `${ORIGIN}/t/acme/mcp`;

  it("is accepted at the path of its resource, and below it", async () => {
    for (const target of ["/t/acme/mcp", "/t/acme/mcp?x=1", "/t/acme/mcp/sse"])
      expect(await ask(server, target, acme)).toBe("allowed");
    expect(await ask(server, "/t/globex/mcp", [acme, `${ORIGIN}/t/globex/mcp`])).toBe("allowed");
    expect(await ask(server, "/t/a%20b/mcp", `${ORIGIN}/t/a%20b/mcp`)).toBe("allowed");
    expect(await ask(server, "/t/a@b:c/mcp", `${ORIGIN}/t/a@b:c/mcp`)).toBe("allowed");
  });

  it.each([
    "/t/globex/mcp",
    "/t/acme2/mcp",
    "/t/acm/mcp",
    "/t/ACME/mcp",
    "/T/acme/mcp",
    "/t/%61cme/mcp",
    "/t/acme",
    "/t/acme/mcpx",
    "/acme/mcp",
    "/",
    "/t/:org/mcp",
  ])("is refused at %s, and its scopes aren't looked at", async (target) => {
    expect(await ask(server, target, acme)).toBe("token_rejected audience");
  });

  it.each([
    ID,
    `${ORIGIN}/t/acme/mcp/`,
    `${ORIGIN}/t/acme/mcp?x`,
    `${ORIGIN}/t/acme/mcp#x`,
    `${ORIGIN}/t/acme/mcp/x`,
    `${ORIGIN}/t/acme`,
    `${ORIGIN}/t//mcp`,
    `${ORIGIN}/t/a/b/mcp`,
    `${ORIGIN}/t/../mcp`,
    `${ORIGIN}/t/%61cme/mcp`,
    `${ORIGIN}.evil.example/t/acme/mcp`,
    "https://other.example/t/acme/mcp",
    "http://api.example/t/acme/mcp",
    "acme",
    "",
    undefined,
    [],
  ])("isn't one with the audience %j", async (aud) => {
    expect(await ask(server, "/t/acme/mcp", aud)).toBe("token_rejected audience");
    expect(await ask(server, "/t/:org/mcp", aud)).toBe("token_rejected audience");
  });

  it("is refused at another tenant's path although it's remembered from its own", async () => {
    const authorization = `Bearer ${await tokenFor(acme)}`;
    for (const [org, isAllowed] of [
      ["acme", true],
      ["globex", false],
      ["acme", true],
    ] as const)
      expect((await server.check({ method: "GET", target: `/t/${org}/mcp`, authorization })).allowed).toBe(
        isAllowed,
      );
  });

  it("isn't needed where another audience is accepted, and isn't accepted in place of it", async () => {
    const withLegacy = create({ audience: [ID, "legacy"] });
    expect(await ask(withLegacy, "/t/acme/mcp", "legacy")).toBe("allowed");
    expect(await ask(withLegacy, "/agents", "legacy")).toBe("allowed");
    expect(await ask(withLegacy, "/agents", acme)).toBe("token_rejected audience");
    expect(await ask(withLegacy, "/t/globex/mcp", acme)).toBe("token_rejected audience");
  });

  it("names no other tenant's metadata in the challenge of its refusal", async () => {
    const handle = withScopes(server, () => new Response("ok"));
    const challengeAt = async (path: string, aud?: string) => {
      const headers = aud === undefined ? {} : { authorization: `Bearer ${await tokenFor(aud)}` };
      const response = await handle(new Request(ORIGIN + path, { headers }));
      const challenge = response.headers.get("www-authenticate");
      return [response.status, /resource_metadata="([^"]*)"/.exec(challenge ?? "")?.[1]];
    };
    const url = (org: string) => `${ORIGIN}${WELL_KNOWN}/t/${org}/mcp`;
    expect(await challengeAt("/t/acme/mcp")).toEqual([401, url("acme")]);
    expect(await challengeAt("/t/globex/mcp")).toEqual([401, url("globex")]);
    expect(await challengeAt("/t/globex/mcp", acme)).toEqual([401, url("globex")]);
    expect(await challengeAt("/agents")).toEqual([401, undefined]);
    expect(await challengeAt("/t/%61cme/mcp")).toEqual([401, undefined]);
    const lacking = issuer.token({ iss: "https://login.example/", aud: acme, scopes: [] });
    const headers = { authorization: `Bearer ${await lacking}` };
    const refused = await handle(new Request(`${ORIGIN}/t/acme/mcp`, { headers }));
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain(`resource_metadata="${url("acme")}"`);
  });
});

describe("the metadata of a template", () => {
  const serve = metadata(create());
  const read = async (path: string, method = "GET") =>
    (await serve(new Request(ORIGIN + path, { method }))?.json()) as { resource: string } | undefined;

  it("names the resource of its path", async () => {
    expect(await read(`${WELL_KNOWN}/t/acme/mcp`)).toEqual({
      resource: `${ORIGIN}/t/acme/mcp`,
      authorization_servers: ["https://login.example/"],
      scopes_supported: ["docs:read"],
      bearer_methods_supported: ["header"],
    });
    expect((await read(`${WELL_KNOWN}/t/a%20b/mcp`))?.resource).toBe(`${ORIGIN}/t/a%20b/mcp`);
  });

  it.each([
    "",
    "/",
    "/t/acme",
    "/t/acme/mcp/",
    "/t/acme/mcp/x",
    "/t/acme/mcp?x",
    "/t//mcp",
    "/t/:org/mcp",
    "/t/%61cme/mcp",
    "/t/%c3%a9/mcp",
    "/t/a%2Fb/mcp",
    "/t/a%5Cb/mcp",
    "/t/a%00b/mcp",
    "/t/%2e%2e/mcp",
    "/t/a;b/mcp",
    "/t/a%22b/mcp%22",
    "/T/acme/mcp",
    "/t/%/mcp",
  ])("isn't served at %j", async (path) => {
    expect(await read(WELL_KNOWN + path)).toBeUndefined();
  });

  it("isn't served for other methods, or outside of its place", async () => {
    expect(await read(`${WELL_KNOWN}/t/acme/mcp`, "POST")).toBeUndefined();
    expect(await read(`/x${WELL_KNOWN}/t/acme/mcp`)).toBeUndefined();
    expect(await read("/t/acme/mcp")).toBeUndefined();
  });
});

describe("protectedResource", () => {
  it.each([
    `${ORIGIN}/t/:/mcp`,
    `${ORIGIN}/:a/:a`,
    `${ORIGIN}/:org.json`,
    `${ORIGIN}/:org?x=1`,
    `${ORIGIN}/:org-x`,
  ])("rejects the parameters of %s", (id) => {
    const { issues } = thrownBy(() => create({}, id));
    expect(issues).toMatchObject([{ path: ["resource", "id"], code: "option_invalid" }]);
    expect(issues[0]?.hint).toContain("https://api.example/t/:org/mcp");
  });

  it("can't be combined with one URL for the metadata of all tenants", () => {
    const { issues } = thrownBy(() => create({ resourceMetadataUrl: `${ORIGIN}/metadata` }));
    expect(issues).toMatchObject([{ code: "option_conflict", path: ["resourceMetadataUrl"] }]);
  });
});
