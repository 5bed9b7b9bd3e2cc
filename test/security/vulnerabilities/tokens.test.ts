/** Forged tokens, and keys that must not be accepted. `test/security/tokens.test.ts` has hundreds more. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryFolder } from "../../support/folder.ts";
import { createServer, issuer, verdictOf as verdictOn } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { outputOf } from "../../tools/cli/support.ts";
import { verdictOf } from "../tokens.ts";
import { claims, forge, SECRET } from "../tokens/forge.ts";
import { itPrevents } from "./prevents.ts";

type Options = Partial<ResourceServerOptions>;

/** Expects `accepted`, the rejection of the token, or the codes of the mistakes in the options. */
async function expectVerdict(expected: string, token: string, options: Options = {}): Promise<void> {
  expect(await verdictOf({ name: "", token, options, expected }), token.slice(0, 60)).toBe(expected);
}

itPrevents("CVE-2025-65945", async () => {
  const options: Options = { algorithm: "HS256", verificationKeys: [SECRET] };
  const secret = "a-secret-that-the-forger-has-written-into-the-token";
  const tokens = [
    forge({ alg: "HS256", key: secret, header: { alg: "HS256", kid: secret } }),
    forge({ alg: "HS256", key: "user-1" }),
    forge({ alg: "HS256", key: secret, payload: { aud: "agents-prod", scopes: [], secret, sub: secret } }),
    forge({ alg: "HS256", key: "" }),
  ];
  for (const token of tokens) await expectVerdict("signature", token, options);
  await expectVerdict("accepted", forge({ alg: "HS256" }), options);
});

const ISSUER = { issuer: "https://issuer.example" };

itPrevents("CVE-2024-53861", async () => {
  for (const iss of ["https://issuer", "issuer.example", "h", "", "https://issuer.example.evil"])
    await expectVerdict("issuer", claims({ iss }), ISSUER);
});

itPrevents("CVE-2026-22748", async () => {
  const fetch = () => Promise.resolve(Response.json({ keys: [issuer.publicJwk] }));
  const server = createServer({ keys: { jwksUri: "https://issuer.example/jwks", fetch }, ...ISSUER });
  expect(await verdictOn(server, await issuer.token({ iss: ISSUER.issuer }))).toBe("accepted");
  expect(await verdictOn(server, await issuer.token({ iss: "https://other-tenant.example" }))).toBe("issuer");
  expect(await verdictOn(server, await issuer.token())).toBe("issuer");
  await server.close();
  const file = join(temporaryFolder("lint"), "scopegate.json");
  const keys = { jwks_uri: "https://login.example/common/keys" };
  writeFileSync(file, JSON.stringify({ service_id: "a", required_claims: ["exp"], keys }));
  expect(await outputOf(["lint", "--config", file])).toContain("warning the issuer of a token isn't checked");
});

itPrevents("GHSA-p2fr-6hmx-4528", async () => {
  const resource = { id: "https://api.example/b", authorizationServers: ["https://issuer.example"] };
  const options: Options = { ...ISSUER, resource, serviceId: undefined as never };
  const token = (aud: string): string => claims({ aud, iss: ISSUER.issuer });
  await expectVerdict("audience", token("https://api.example/a"), options);
  await expectVerdict("audience", token("https://api.example"), options);
  await expectVerdict("accepted", token("https://api.example/b"), options);
});
