/** The configurations in docs/guides/providers.md, each with a token like those of the provider. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import { verdictOf } from "../support/resource-servers.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, "test/.providers");
const page = readFileSync(join(ROOT, "docs/guides/providers.md"), "utf8");
const signer = createIssuer({ kid: "provider-key" });

beforeAll(() => mkdirSync(FOLDER, { recursive: true }));
afterAll(() => {
  vi.unstubAllGlobals();
  rmSync(FOLDER, { recursive: true, force: true });
});

interface Provider {
  readonly name: string;
  /** The URL of the metadata, as documented by the provider. */
  readonly metadata: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>> & { readonly iss: string };
  readonly principal: object;
}

const exp = Math.floor(Date.now() / 1000) + 3600;

const providers: readonly Provider[] = [
  {
    name: "Auth0",
    metadata: "https://your-tenant.eu.auth0.com/.well-known/openid-configuration",
    header: { typ: "at+jwt" },
    claims: {
      iss: "https://your-tenant.eu.auth0.com/",
      sub: "auth0|5f7c8ec7c33c6c004bbafe82",
      aud: ["https://agents.example", "https://your-tenant.eu.auth0.com/userinfo"],
      scope: "openid profile",
      permissions: ["agents:read"],
    },
    principal: { userId: "auth0|5f7c8ec7c33c6c004bbafe82", scopes: ["agents:read"] },
  },
  {
    name: "Okta",
    metadata: "https://your-domain.okta.com/oauth2/default/.well-known/openid-configuration",
    header: { typ: undefined },
    claims: {
      ver: 1,
      iss: "https://your-domain.okta.com/oauth2/default",
      aud: "api://default",
      cid: "0oa1client",
      uid: "00u1user",
      scp: ["openid", "agents:read"],
      sub: "user@company.example",
    },
    principal: { userId: "00u1user", scopes: ["openid", "agents:read"] },
  },
  {
    name: "Microsoft Entra ID",
    metadata:
      "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0/.well-known/openid-configuration",
    header: { typ: "JWT" },
    claims: {
      ver: "2.0",
      iss: "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0",
      aud: "66666666-7777-8888-9999-000000000000",
      oid: "object-1",
      sub: "pairwise-1",
      scp: "Agents.Read Agents.Run",
    },
    principal: { userId: "object-1", scopes: ["Agents.Read", "Agents.Run"] },
  },
  {
    name: "Keycloak",
    metadata: "https://keycloak.example/realms/your-realm/.well-known/openid-configuration",
    header: { typ: "JWT" },
    claims: {
      iss: "https://keycloak.example/realms/your-realm",
      aud: ["agents-prod", "account"],
      typ: "Bearer",
      sub: "user-1",
      sid: "session-1",
      scope: "profile email",
      realm_access: { roles: ["offline_access", "agents:read"] },
    },
    principal: { userId: "user-1", sessionId: "session-1", scopes: ["offline_access", "agents:read"] },
  },
  {
    name: "Amazon Cognito",
    metadata:
      "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI/.well-known/openid-configuration",
    header: { typ: undefined },
    claims: {
      iss: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI",
      aud: undefined,
      client_id: "client-1",
      token_use: "access",
      sub: "user-1",
      scope: "agents/read",
    },
    principal: { userId: "user-1", scopes: ["agents/read"] },
  },
];

/** Runs the code block under a heading of the page. */
async function documentedServer(name: string): Promise<ResourceServer> {
  const section = page.split(`\n## ${name}\n`)[1] ?? "";
  const code = /^```ts\n(.*?)^```$/ms.exec(section)?.[1] ?? "";
  const file = join(FOLDER, `${name.replaceAll(" ", "-")}.ts`);
  writeFileSync(file, code);
  const { server } = (await import(pathToFileURL(file).href)) as { readonly server: ResourceServer };
  return server;
}

/** Replaces `fetch` with a stand-in for the provider. */
function standIn({ metadata, claims }: Provider): void {
  const jwksUri = "https://keys.example/jwks";
  const documents: Readonly<Record<string, unknown>> = {
    [metadata]: { issuer: claims.iss, jwks_uri: jwksUri },
    [jwksUri]: { keys: [signer.publicJwk] },
  };
  const answer = (url: string) =>
    Promise.resolve(
      url in documents ? Response.json(documents[url]) : new Response("not found", { status: 404 }),
    );
  vi.stubGlobal("fetch", answer);
}

describe.each(providers)("the configuration for $name", (provider) => {
  it("accepts tokens with the claims that the provider documents", async () => {
    standIn(provider);
    const server = await documentedServer(provider.name);
    const principal = await server.authenticate(
      await signer.token({ scopes: undefined, exp, ...provider.claims }, provider.header),
    );
    expect(principal).toMatchObject({ ...provider.principal, issuer: provider.claims.iss });
    await server.close();
  });

  it("rejects tokens of another tenant, for another service, without exp and without scopes", async () => {
    standIn(provider);
    const server = await documentedServer(provider.name);
    const verdict = async (claims: object) =>
      verdictOf(
        server,
        await signer.token({ scopes: undefined, exp, ...provider.claims, ...claims }, provider.header),
      );
    expect(await verdict({ iss: provider.claims.iss.replace("//", "//other-") })).toBe("issuer");
    expect(await verdict({ exp: undefined })).toBe("claims");
    if (provider.claims["aud"] !== undefined) expect(await verdict({ aud: "other" })).toBe("audience");
    expect(
      await verdict({ scope: undefined, scp: undefined, permissions: undefined, realm_access: {} }),
    ).toBe("claims");
    await server.close();
  });
});
