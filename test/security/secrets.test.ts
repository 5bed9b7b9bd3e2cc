/** No token, no signature and no key in anything that a log might show. */
import { createSecretKey } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Refused, ResourceServer } from "scopegate";
import { explain } from "scopegate/explain";
import { generateKey } from "../../src/tools/testing/test-key.ts";
import { createIssuer } from "../support/issuer.ts";
import { signRaw } from "../support/raw-token.ts";
import { thrownBy } from "../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../support/server.ts";

const SECRET = "canary-hmac-secret-0123456789-abcdefghijklmnop";
const issuer = createIssuer();
const secretKey = createSecretKey(SECRET, "utf8");
const privateJwk = issuer.privateKey.export({ format: "jwk" });
const ed25519 = generateKey("ed25519");
const privatePem = issuer.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

const hmacToken = (payload: object): string => signRaw('{"alg":"HS256"}', JSON.stringify(payload), secretKey);
const GOOD = { scopes: ["agents:read"], aud: "agents-prod", sub: "user-1" };
const tokens = [
  hmacToken(GOOD),
  hmacToken({ ...GOOD, scopes: [] }),
  hmacToken({ ...GOOD, aud: "other" }),
  hmacToken({ ...GOOD, exp: 1 }),
  hmacToken({ ...GOOD, scopes: 5 }),
  hmacToken(GOOD).slice(0, -3) + "AAA",
  await issuer.token(GOOD),
];

/** Everything that must not be shown, in the ways in which bytes are written. */
const SECRETS: readonly string[] = [
  ...tokens.flatMap((token) => [token, token.split(".")[1] ?? "", token.split(".")[2] ?? ""]),
  ...(["utf8", "base64", "base64url", "hex"] as const).map((code) => Buffer.from(SECRET).toString(code)),
  ...[privateJwk.d, privateJwk.p, privateJwk.q, privateJwk.dp].map(String),
  privatePem.split("\n")[3] ?? "",
];

/** A value in every way that a log might write it: inspected to the bottom, as JSON, member by member, and its text. */
function shown(value: unknown, seen = new Set()): string {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return String(value);
  // The prototype of dates cannot be written as JSON.
  if (seen.has(value) || value === Date.prototype) return "";
  seen.add(value);
  const texts = [
    inspect(value, {
      depth: Infinity,
      showHidden: true,
      getters: true,
      maxStringLength: null,
      maxArrayLength: null,
    }),
  ];
  if (!(value instanceof Function)) texts.push(JSON.stringify(value));
  if (value instanceof Error)
    texts.push(String(value), value.stack ?? "", value.message, shown(value.cause, seen));
  for (const name of Reflect.ownKeys(value)) {
    const member = Reflect.getOwnPropertyDescriptor(value, name);
    texts.push(String(name), shown(member?.value, seen), shown(member?.get, seen));
  }
  texts.push(shown(Object.getPrototypeOf(value), seen));
  return texts.join("\n");
}

function expectNoSecret(value: unknown): void {
  const text = shown(value);
  expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
}

const directory = mkdtempSync(join(tmpdir(), "secrets-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** With the secret as the only key, unless the options contain other ones. */
const create = (more: Partial<ResourceServerOptions> = {}): ResourceServer =>
  createResourceServer({
    serviceId: "agents-prod",
    algorithm: "HS256",
    ...(!more.keys && { verificationKeys: [SECRET] }),
    ...more,
  });

it("finds a secret in every kind of place, so that an empty result is meaningful", () => {
  const hidden = Object.defineProperty(new Error("x", { cause: { deep: [SECRET] } }), "quiet", {
    value: tokens[0],
  });
  for (const place of [
    hidden,
    { a: new Map([[1, SECRET]]) },
    {
      get b() {
        return tokens[0];
      },
    },
    { [String(tokens[0])]: 1 },
  ])
    expect(() => expectNoSecret(place)).toThrow();
});

describe("a secret", () => {
  const credentials = tokens.flatMap((token) => [
    { authorization: `Bearer ${token}` },
    { authorization: [`Bearer ${token}`, `Bearer ${token}`] },
    { cookie: `t=${token}` },
  ]);

  it("does not appear in a server, before and after it was used", async () => {
    const server = create();
    expectNoSecret(server);
    await server.ready();
    for (const credential of credentials)
      await server.check({ method: "GET", target: "/agents", ...credential });
    expectNoSecret(server);
  });

  it("does not appear in a decision, its refusal, or the arguments of hooks", async () => {
    const told: unknown[] = [];
    const server = create({
      tokenSources: [{ header: "authorization" }, { cookie: "t" }],
      onDecision: (...values) => told.push(values),
      isRevoked: ({ userId }) => userId === "user-2",
    });
    for (const credential of credentials) {
      for (const token of tokens) {
        const request = { method: "GET", target: `/agents?access_token=${token}#${token}`, ...credential };
        const decision = await server.check({ ...request, target: request.target.split("#")[0] ?? "" });
        expectNoSecret(decision);
        expectNoSecret(await server.check(request));
        if (!decision.allowed) expectNoSecret(server.refuse(decision));
      }
    }
    expect(told.length).toBeGreaterThan(100);
    expectNoSecret(told);
  });

  it("does not appear in a principal", async () => {
    expectNoSecret(await create().authenticate(tokens[0] ?? ""));
  });

  it("does not appear in an error of a token", async () => {
    const wrong = [...tokens.slice(2), "a.b.c", ...tokens.map((token) => `${token}.`)];
    for (const token of wrong) {
      const error: unknown = await create()
        .authenticate(token)
        .catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Error);
      expectNoSecret(error);
    }
  });

  it("does not appear in an error of a clock or a revocation check, or in its refusal", async () => {
    const failing = create({ isRevoked: () => Promise.reject(new Error("away")) });
    const decision = await failing.check({
      method: "GET",
      target: "/agents",
      authorization: `Bearer ${tokens[0] ?? ""}`,
    });
    expectNoSecret(decision);
    expectNoSecret(failing.refuse(decision as Refused));
    expectNoSecret(await failing.authenticate(tokens[0] ?? "").catch((error: unknown) => error));
    const timeless = create({ now: () => Number.NaN });
    expectNoSecret(await timeless.authenticate(tokens[0] ?? "").catch((error: unknown) => error));
  });

  it("does not appear in an explanation or the table", () => {
    const server = create();
    expectNoSecret(explain(server, { method: "GET", path: "/agents", scopes: ["agents:read"] }));
    expectNoSecret(server.routes);
  });

  it("does not appear in an event of a key file, or in the warning without a hook", async () => {
    const jwksFile = join(directory, "jwks.json");
    const key = { kty: "oct", k: Buffer.from(SECRET).toString("base64url"), kid: "k" };
    const events: unknown[] = [];
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    // The size differs each time, so that the file is read again.
    const write = (value: unknown, time: number) =>
      writeFileSync(
        jwksFile,
        typeof value === "string" ? value : JSON.stringify(value).padEnd(time * 10_000),
      );
    write({ keys: [key] }, 1);
    const keys = { jwksFile };
    const servers = [create({ keys, onKeyEvent: (event) => void events.push(event) }), create({ keys })];
    const mistakes = [{ keys: [privateJwk, key] }, SECRET, privatePem, { keys: [key, { ...key, k: 5 }] }];
    for (const [turn, value] of mistakes.entries()) {
      write(value, turn + 2);
      for (const server of servers) await server.ready().catch(expectNoSecret);
    }
    expect(events.length).toBeGreaterThan(3);
    expectNoSecret(events);
    expect(warn.mock.calls.length).toBeGreaterThan(1);
    expectNoSecret(warn.mock.calls);
    warn.mockRestore();
    expectNoSecret(servers);
  });

  const shortSecret = SECRET.slice(0, 20);
  it.each<readonly [string, object]>([
    ["a secret with RS256", { algorithm: "RS256", verificationKeys: [SECRET] }],
    ["a secret that is no list", { verificationKeys: SECRET }],
    ["a short secret", { verificationKeys: [shortSecret] }],
    ["a secret for a longer hash", { algorithm: "HS512", verificationKeys: [SECRET] }],
    ["a secret as KeyObject with RS256", { algorithm: "RS256", verificationKeys: [secretKey] }],
    ["a secret as JWK with RS256", { algorithm: "RS256", verificationKeys: [{ kty: "oct", k: SECRET }] }],
    ["a secret as a set", { keys: { jwks: SECRET } }],
    ["a secret as a file", { keys: { jwksFile: SECRET } }],
    ["a token as a file", { keys: { jwksFile: tokens[0] } }],
    ["a private key as a file", { keys: { jwksFile: privatePem } }],
    ["a private key as PEM", { algorithm: "RS256", verificationKeys: [privatePem] }],
    ["a private key as PEM, used as a secret", { verificationKeys: [privatePem] }],
    ["a private key as JWK", { algorithm: "RS256", verificationKeys: [privateJwk] }],
    ["a private key as JWK text", { algorithm: "RS256", verificationKeys: [JSON.stringify(privateJwk)] }],
    ["a private key as KeyObject", { algorithm: "RS256", verificationKeys: [issuer.privateKey] }],
    ["a private key in a set", { algorithm: "RS256", keys: { jwks: { keys: [privateJwk] } } }],
    ["a private key of another kind", { algorithm: "ES256", verificationKeys: [ed25519, privateJwk] }],
    ["a broken PEM", { algorithm: "RS256", verificationKeys: [privatePem.replaceAll("PRIVATE", "PUBLIC")] }],
    ["broken JSON", { algorithm: "RS256", verificationKeys: [`{"kty":"oct","k":"${SECRET}"`] }],
    ["a token for a key", { algorithm: "RS256", verificationKeys: [tokens[0]] }],
    ["a secret as the algorithm", { algorithm: SECRET }],
    ["a secret as the service", { serviceId: { SECRET } }],
    ["a secret in an unknown option", { secret: SECRET, jwtSecret: [SECRET], password: { SECRET } }],
    ["a secret as the realm", { realm: `${SECRET}\n` }],
    ["a secret as a URL", { resourceMetadataUrl: `http://user:${SECRET}@host` }],
    ["a secret as a source", { tokenSources: [SECRET, { cookie: `${SECRET};` }] }],
    ["a secret as a table", { scopeMappings: SECRET }],
  ])("does not appear in the error for %s", (_, options) => {
    const thrown = thrownBy(() => create(options));
    expectNoSecret(thrown);
    expect(shown(thrown)).not.toContain(shortSecret);
  });
});
