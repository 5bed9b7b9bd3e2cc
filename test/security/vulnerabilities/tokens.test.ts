/** Forged tokens, and keys that must not be accepted. `test/security/tokens.test.ts` has hundreds more. */
import { createSecretKey, type KeyObject } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { createServer, issuer, mistakesOf, verdictOf as verdictOn } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { outputOf } from "../../tools/cli/support.ts";
import { verdictOf } from "../tokens.ts";
import {
  claims,
  forge,
  jwkOf,
  NOW,
  partsOf,
  pemOf,
  privateKeyOf,
  publicKeyOf,
  SECRET,
  withHeader,
} from "../tokens/forge.ts";
import { itPrevents } from "./prevents.ts";

type Options = Partial<ResourceServerOptions>;

/** Expects `accepted`, the rejection of the token, or the codes of the mistakes in the options. */
async function expectVerdict(expected: string, token: string, options: Options = {}): Promise<void> {
  expect(await verdictOf({ name: "", token, options, expected }), token.slice(0, 60)).toBe(expected);
}

const der = (type: "spki" | "pkcs1"): Buffer => publicKeyOf("rsa").export({ type, format: "der" });
const pkcs1 = publicKeyOf("rsa").export({ type: "pkcs1", format: "pem" }).toString();

itPrevents("CVE-2022-23539", async () => {
  const keys: readonly (readonly [NonNullable<Options["algorithm"]>, KeyObject | string])[] = [
    ["RS256", generateKey("dsa", { modulusLength: 2048, divisorLength: 256 })],
    ["RS256", pemOf("p256")],
    ["ES256", pemOf("rsa")],
    ["ES256", pemOf("k256")],
    ["ES384", pemOf("p256")],
    ["EdDSA", pemOf("p256")],
  ];
  for (const [algorithm, key] of keys) {
    const options = { algorithm, verificationKeys: [key] };
    expect(await verdictOf({ name: "", token: forge(), options, expected: "" }), algorithm).toMatch(/^key_/);
  }
});

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

itPrevents("CVE-2023-48223", async () => {
  const pem = pemOf("rsa");
  const spellings = [
    pem,
    pkcs1,
    ` ${pem}`,
    `\t${pem}`,
    `\n${pem}`,
    `\uFEFF${pem}`,
    pem.replaceAll("\n", "\r\n"),
  ];
  for (const key of spellings) {
    await expectVerdict("algorithm", forge({ alg: "HS256", key }));
    await expectVerdict("algorithm", forge({ alg: "HS256", key }), { verificationKeys: [key] });
    const asSecret: Options = { algorithm: "HS256", verificationKeys: [key] };
    await expectVerdict("key_unusable", forge({ alg: "HS256", key }), asSecret);
  }
});

/** The key as a line of `authorized_keys` of OpenSSH. */
function openSsh(name: string, ...fields: readonly (string | Buffer)[]): string {
  const parts = [name, ...fields].map((field) => {
    const bytes = Buffer.from(field as string);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  });
  return `${name} ${Buffer.concat(parts).toString("base64")} alice@example`;
}
const bytesIn = (jwk: Readonly<Record<string, unknown>>, name: string): Buffer =>
  Buffer.from(String(jwk[name]), "base64url");

itPrevents("CVE-2022-29217", async () => {
  const [rsa, p256] = [jwkOf("rsa"), jwkOf("p256")];
  const point = Buffer.concat([Buffer.of(4), bytesIn(p256, "x"), bytesIn(p256, "y")]);
  const spellings: readonly (string | Buffer)[] = [
    openSsh("ssh-rsa", bytesIn(rsa, "e"), Buffer.concat([Buffer.of(0), bytesIn(rsa, "n")])),
    openSsh("ecdsa-sha2-nistp256", "nistp256", point),
    JSON.stringify(rsa),
    JSON.stringify(p256),
    pemOf("p256"),
    der("spki"),
    der("pkcs1"),
    der("spki").toString("base64"),
    der("spki").toString("hex"),
  ];
  for (const key of spellings) {
    const secret = typeof key === "string" ? key : createSecretKey(key);
    const options: Options = { algorithm: "HS256", verificationKeys: [secret] };
    await expectVerdict("key_unusable", forge({ alg: "HS256", key }), options);
    await expectVerdict("algorithm", forge({ alg: "HS256", key }));
  }
});

itPrevents("CVE-2026-44351", async () => {
  const forged = forge({ alg: "HS256", key: "" });
  const empty = { kty: "oct", k: "", kid: "x" };
  for (const key of ["", createSecretKey(Buffer.alloc(0)), empty]) {
    const options: Options = { algorithm: "HS256", verificationKeys: [key] };
    expect(mistakesOf(() => createServer(options))).not.toEqual([]);
  }
  const jwksUri = "https://issuer.example/jwks";
  for (const keys of [{ jwks: { keys: [empty] } }, { jwksUri }])
    expect(mistakesOf(() => createServer({ algorithm: "HS256", keys }))).not.toEqual([]);
  const fetch = () => Promise.resolve(Response.json({ keys: [empty] }));
  const server = createServer({ keys: { jwksUri, fetch } });
  expect(await verdictOn(server, forged)).not.toBe("accepted");
  await server.close();
});

const ISSUER = { issuer: "https://issuer.example" };

itPrevents("CVE-2024-53861", async () => {
  for (const iss of [
    "https://issuer",
    "issuer.example",
    "h",
    "",
    `${ISSUER.issuer}/`,
    `${ISSUER.issuer}.evil`,
  ])
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

itPrevents("CVE-2026-35039", async () => {
  const server = createServer();
  const tokens = await Promise.all(
    ["alice", "bob"].map((sub) => issuer.token({ sub, scopes: ["agents:read"], jti: "same", iat: NOW })),
  );
  for (let turn = 0; turn < 3; turn += 1) {
    const callers = await Promise.all(tokens.map((token) => server.authenticate(token)));
    expect(callers.map(({ userId }) => userId)).toEqual(["alice", "bob"]);
  }
  const [alice = "", bob = ""] = tokens;
  const mixed = [...partsOf(bob).slice(0, 2), partsOf(alice)[2]].join(".");
  expect(await verdictOn(server, mixed)).toBe("signature");
});

/** Two issuers whose different keys have the same `kid`. */
const TENANTS = { a: "rsa", b: "stranger" } as const;
type Tenant = keyof typeof TENANTS;

const nameOf = (tenant: Tenant): string => `https://${tenant}.example`;
const tokenOf = (tenant: Tenant, signer: Tenant, more: object = {}): string =>
  forge({
    key: privateKeyOf(TENANTS[signer]),
    header: { alg: "RS256", kid: "current" },
    payload: { aud: "agents-prod", scopes: [], iss: nameOf(tenant), ...more },
  });
const setOf = (...tenants: readonly Tenant[]) => ({
  keys: tenants.map((tenant) => jwkOf(TENANTS[tenant], { kid: "current" })),
});
/** Both tenants have their keys at one host, as the tenants of a hosted provider do. */
const trustIn = (...tenants: readonly Tenant[]): NonNullable<Options["issuers"]> =>
  tenants.map((tenant) => ({
    issuer: nameOf(tenant),
    algorithms: ["RS256"],
    keys: {
      jwksUri: `https://login.example/${tenant}/keys`,
      fetch: () => Promise.resolve(Response.json(setOf(tenant))),
    },
  }));

itPrevents("CVE-2026-49998", async () => {
  const both = createServer({ issuers: trustIn("a", "b") });
  const onlyB = createServer({ issuers: trustIn("b") });
  // The keys of tenant A are loaded first.
  expect(await verdictOn(both, tokenOf("a", "a"))).toBe("accepted");
  for (const server of [both, onlyB]) {
    expect(await verdictOn(server, tokenOf("b", "a"))).toBe("signature");
    expect(await verdictOn(server, tokenOf("b", "b"))).toBe("accepted");
    expect(await verdictOn(server, tokenOf("b", "a"))).toBe("signature");
  }
  expect(await verdictOn(both, tokenOf("a", "b"))).toBe("signature");
  for (const server of [both, onlyB]) await server.close();
});

itPrevents("GHSA-675f-rq2r-jw82", async () => {
  let set = setOf("a", "b");
  const fetch = () => Promise.resolve(Response.json(set));
  const server = createServer({ keys: { jwksUri: "https://login.example/keys", fetch } });
  expect(await verdictOn(server, tokenOf("b", "b"))).toBe("accepted");
  set = setOf("a");
  await server.refreshKeys();
  // The first server has remembered this token.
  expect(await verdictOn(server, tokenOf("b", "b"))).toBe("signature");
  await server.close();

  const before = createServer({ issuers: trustIn("a", "b") });
  expect(await verdictOn(before, tokenOf("b", "b"))).toBe("accepted");
  const after = createServer({ issuers: trustIn("a") });
  expect(await verdictOn(after, tokenOf("b", "b"))).toBe("issuer");
  expect(await verdictOn(after, tokenOf("b", "a"))).toBe("issuer");
  expect(await verdictOn(after, tokenOf("a", "a"))).toBe("accepted");
  // What one server remembers, no other server uses, whatever it accepts.
  const stricter = createServer({ issuers: trustIn("a", "b"), clients: ["app-1"] });
  expect(await verdictOn(stricter, tokenOf("b", "b"))).toBe("claims");
  const other = createServer({ issuers: trustIn("a", "b"), serviceId: "other-service" });
  expect(await verdictOn(other, tokenOf("b", "b"))).toBe("audience");
  expect(await verdictOn(before, tokenOf("b", "b"))).toBe("accepted");
  for (const each of [before, after, stricter, other]) await each.close();
});

itPrevents("CVE-2026-35040", () => {
  for (const pattern of [/agents/g, /agents/y, /^agents/]) {
    expect(mistakesOf(() => createServer({ audience: pattern as never }))).not.toEqual([]);
    expect(mistakesOf(() => createServer({ issuer: pattern as never }))).not.toEqual([]);
  }
});

itPrevents("CVE-2018-0114", async () => {
  const key = privateKeyOf("stranger");
  const address = "https://evil.example/key";
  const requests: unknown[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = (url) => {
    requests.push(url);
    return Promise.resolve(Response.json({ keys: [jwkOf("stranger")] }));
  };
  try {
    const x5c = [publicKeyOf("stranger").export({ type: "spki", format: "der" }).toString("base64")];
    for (const header of [{ jwk: jwkOf("stranger") }, { jku: address }, { x5u: address }, { x5c }])
      await expectVerdict("signature", withHeader(header, key));
  } finally {
    globalThis.fetch = fetch;
  }
  expect(requests).toEqual([]);
});

itPrevents("CVE-2024-51744", async () => {
  await expectVerdict("expired", claims({ exp: NOW - 60 }));
  const expired = forge({ key: privateKeyOf("stranger"), payload: { exp: 1, aud: "other", scopes: [] } });
  await expectVerdict("signature", expired);
});

itPrevents("CVE-2017-15361", () => {
  const primes = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
  ];
  const more = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167];
  const product = [...primes, ...more].reduce((total, prime) => total * BigInt(prime), 1n);
  // An odd number of 2048 bits that is 65537 modulo each of the primes.
  const multiple = ((1n << 2047n) / product + 1n) * product;
  const modulus = multiple % 2n === 0n ? multiple + 65_537n : multiple + product + 65_537n;
  const n = Buffer.from(modulus.toString(16), "hex").toString("base64url");
  const verificationKeys = [{ kty: "RSA", e: "AQAB", n }];
  expect(mistakesOf(() => createServer({ verificationKeys }))).toContainEqual(
    expect.arrayContaining(["key_weak"]),
  );
});
