/** The pages in docs/providers: each configuration accepts the token of its page, and rejects those that must not pass. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { createIssuer, type IssuerAlgorithm } from "../support/issuer.ts";
import { codesOf } from "./tables.ts";
import { type Block, type Page, pageOf, pages, ROOT, tableOf } from "./markdown.ts";

type Claims = Readonly<Record<string, unknown>>;

const FOLDER = join(ROOT, "test/.providers");
const OVERVIEW = "docs/providers/README.md";
const providers = pages.filter(({ path }) => path.startsWith("docs/providers/") && path !== OVERVIEW);

/** What a page shows. */
interface Provider {
  readonly name: string;
  readonly code: string;
  /** As the prose names it, so that a wrong `algorithm` in the configuration fails. */
  readonly algorithm: IssuerAlgorithm;
  readonly payload: Claims & { readonly iss: string };
  /** Tokens that must not pass, each with the rejection that the page names above it. */
  readonly others: readonly { readonly payload: Claims; readonly rejection: string }[];
}

function read(page: Page): Provider {
  const inLanguage = (language: string) => page.blocks.filter((block) => block.language === language);
  const [first, ...others] = inLanguage("json");
  const [code, ...codes] = inLanguage("ts");
  if (!first || !code || codes.length > 0 || others.length === 0)
    throw new Error(`${page.path} needs a payload, one configuration, and a token that must not pass.`);
  return {
    name: basename(page.path, ".md"),
    code: code.code,
    algorithm: (/Signed with `(\w+)`/.exec(page.prose)?.[1] ?? "none") as IssuerAlgorithm,
    payload: JSON.parse(first.code) as Provider["payload"],
    others: others.map((block) => ({
      payload: JSON.parse(block.code) as Claims,
      rejection: rejectionAbove(page, block),
    })),
  };
}

/** The rejection in the paragraph or the list item directly above a block. */
function rejectionAbove({ path, text }: Page, { line }: Block): string {
  const above = text
    .split("\n", line - 1)
    .join("\n")
    .trimEnd();
  const paragraph = above.split(/\n\n|\n- /).at(-1) ?? "";
  const [, rejection] = /rejected\s+as\s+\[`(\w+)`\]/.exec(paragraph) ?? [];
  if (rejection === undefined) throw new Error(`${path}:${line} names no rejection above this token.`);
  return rejection;
}

/** A string in the configuration. */
const settingOf = ({ code }: Provider, pattern: RegExp): string | undefined => pattern.exec(code)?.[1];

/** Serves the keys at the address of the configuration only, and runs it. */
async function start(provider: Provider) {
  const issuer = createIssuer({ algorithm: provider.algorithm, kid: "provider-key" });
  const metadata = `${provider.payload.iss.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const jwksUri =
    settingOf(provider, /jwksUri: ["`]([^"`]+)["`]/)?.replace("${issuer}", provider.payload.iss) ??
    "https://keys.example/jwks";
  const documents: Claims = {
    ...(provider.code.includes("discovery: true") && {
      [metadata]: { issuer: provider.payload.iss, jwks_uri: jwksUri },
    }),
    [jwksUri]: { keys: [issuer.publicJwk] },
  };
  vi.stubGlobal("fetch", (url: string) =>
    Promise.resolve(
      url in documents ? Response.json(documents[url]) : new Response("not found", { status: 404 }),
    ),
  );
  const file = join(FOLDER, `${provider.name}.ts`);
  writeFileSync(file, provider.code);
  const { server } = (await import(pathToFileURL(file).href)) as { readonly server: ResourceServer };
  await server.ready();
  const header = settingOf(provider, /header: "([\w-]+)"/);
  const accessTokenType = settingOf(provider, /tokenTypes: \["([^"]+)"\]/) ?? "JWT";
  /** Sends a token with these claims, which are valid now. */
  const send = async (method: string, claims: Claims, typ = accessTokenType) => {
    const now = Math.floor(Date.now() / 1000);
    const validAt = (name: string, time: number) => (claims[name] === undefined ? undefined : time);
    const dates = { iat: validAt("iat", now), nbf: validAt("nbf", now), exp: validAt("exp", now + 3600) };
    const defaults = { aud: undefined, scopes: undefined, sub: undefined };
    const token = await issuer.token({ ...defaults, ...claims, ...dates }, { typ });
    const credential =
      header === undefined ? { authorization: `Bearer ${token}` } : { headers: { [header]: token } };
    return server.check({ method, target: "/stores", ...credential });
  };
  const rejectionOf = async (claims: Claims, typ?: string) => {
    const decision = await send("GET", claims, typ);
    return decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);
  };
  return { server, send, rejectionOf };
}

beforeAll(() => mkdirSync(FOLDER, { recursive: true }));
afterAll(() => {
  vi.unstubAllGlobals();
  rmSync(FOLDER, { recursive: true, force: true });
});

describe.each(providers)("$path", (page) => {
  it("accepts a token of the documented shape, and allows only what its scopes grant", async () => {
    const provider = read(page);
    const { server, send } = await start(provider);
    const { payload } = provider;
    const allowed = await send("GET", payload);
    expect(allowed).toMatchObject({ allowed: true });
    const userId = payload[settingOf(provider, /userIdClaim: "(\w+)"/) ?? "sub"];
    expect(allowed.allowed && allowed.principal).toMatchObject({ userId, issuer: payload.iss });
    const refused = await send("POST", payload);
    expect(refused).toMatchObject({ allowed: false, reason: "scope_insufficient" });
    expect(refused.allowed || server.refuse(refused).status).toBe(403);
    await server.close();
  });

  it("rejects tokens of another tenant, for another service, without exp and without scopes", async () => {
    const provider = read(page);
    const { payload } = provider;
    const { server, rejectionOf } = await start(provider);
    expect(await rejectionOf({ ...payload, iss: payload.iss.replace("//", "//other-") })).toBe("issuer");
    if ("aud" in payload) expect(await rejectionOf({ ...payload, aud: "another-service" })).toBe("audience");
    // Without an audience, the client must be known.
    else
      for (const claim of ["azp", "client_id"].filter((name) => name in payload))
        for (const value of ["another-client", undefined])
          expect(await rejectionOf({ ...payload, [claim]: value })).toBe("claims");
    expect(await rejectionOf({ ...payload, exp: undefined })).toBe("claims");
    const scopesClaim = settingOf(provider, /scopesClaim: "(\w+)"/);
    if (scopesClaim !== undefined)
      expect(await rejectionOf({ ...payload, [scopesClaim]: undefined })).toBe("claims");
    await server.close();
  });

  it("rejects the other tokens that the page shows, for the reason that it names", async () => {
    const provider = read(page);
    const { server, rejectionOf } = await start(provider);
    for (const { payload, rejection } of provider.others)
      expect(await rejectionOf(payload, "JWT")).toBe(rejection);
    await server.close();
  });
});

describe(OVERVIEW, () => {
  it("lists every provider with a claim that its token has, and says that none was tried", () => {
    const rows = tableOf(pageOf(OVERVIEW).text, "provider");
    const listed = rows.map(([link = ""]) => `docs/providers/${/\(([^()#]+)/.exec(link)?.[1] ?? ""}`);
    expect([...new Set(listed)].sort()).toEqual(providers.map(({ path }) => path));
    expect(pageOf(OVERVIEW).prose).toContain("None was tried with the real provider");
    for (const [index, [, claim = ""]] of rows.entries()) {
      const page = pageOf(listed[index] ?? "");
      const [path] = codesOf(claim);
      const value = path?.split(".").reduce<unknown>((at, name) => (at as Claims)[name], read(page).payload);
      if (path !== undefined) expect(value, `${page.path}: ${path}`).toBeDefined();
    }
  });
});
