/** How long tokens are cached, and when they are verified again. */
import { webcrypto } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, onTestFinished, vi } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { setOf } from "../../support/remote-keys.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

let signatures: MockInstance<typeof webcrypto.subtle.verify>;
beforeEach(() => {
  signatures = vi.spyOn(webcrypto.subtle, "verify");
});
afterEach(() => signatures.mockRestore());

/** The number of signatures verified since the last call. */
function verified(): number {
  const { length } = signatures.mock.calls;
  signatures.mockClear();
  return length;
}

/** A server, and a function that advances its clock by seconds. */
function createClocked(options: Partial<ResourceServerOptions> = {}) {
  let now = NOW * 1000;
  const server = createServer({ now: () => now, ...options });
  return {
    server,
    verdict: (token: string) => verdictOf(server, token),
    pass: (seconds: number) => void (now += seconds * 1000),
  };
}

describe("an accepted token", () => {
  it("returns the same frozen principal without a second verification", async () => {
    const { server } = createClocked();
    const token = await issuer.token({ scopes: ["agents:read"] });
    const first = await server.authenticate(token);
    expect(await server.authenticate(token)).toBe(first);
    expect(Object.isFrozen(first)).toBe(true);
    expect(verified()).toBe(1);
  });

  it("causes one verification if several requests send it at the same time", async () => {
    const { verdict } = createClocked();
    const token = await issuer.token();
    const verdicts = await Promise.all([...Array(50).keys()].map(() => verdict(token)));
    expect([new Set(verdicts), verified()]).toEqual([new Set(["accepted"]), 1]);
  });

  it.each<
    readonly [string, Readonly<Record<string, unknown>>, Partial<ResourceServerOptions>, number, string]
  >([
    ["its exp", { exp: NOW + 30 }, {}, 30, "expired"],
    ["maxAgeSeconds", {}, {}, 60, "accepted"],
    ["maxAgeSeconds of the options", {}, { tokenCache: { maxAgeSeconds: 5 } }, 5, "accepted"],
    ["maxTokenAgeSeconds", { iat: NOW }, { maxTokenAgeSeconds: 20 }, 20, "accepted"],
    [
      "its exp, whatever the clock tolerance is",
      { exp: NOW + 9 },
      { clockToleranceSeconds: 5 },
      9,
      "accepted",
    ],
  ])("causes a second verification after %s", async (_, claims, options, end, then) => {
    const { verdict, pass } = createClocked(options);
    const token = await issuer.token(claims);
    await verdict(token);
    pass(end - 0.001);
    expect([await verdict(token), verified()]).toEqual(["accepted", 1]);
    pass(0.001);
    expect([await verdict(token), verified()]).toEqual([then, 1]);
  });

  it("causes a second verification if the clock was set back, because it may not be valid yet", async () => {
    const { verdict, pass } = createClocked();
    const token = await issuer.token({ nbf: NOW });
    await verdict(token);
    pass(-1);
    expect([await verdict(token), verified()]).toEqual(["not_yet_valid", 2]);
  });

  it("accepts no similar token: every character counts", async () => {
    const { verdict } = createClocked();
    const token = await issuer.token();
    await verdict(token);
    const other = await createIssuer({ kid: "stranger" }).token();
    const [header = "", payload = "", signature = ""] = token.split(".");
    const changed = [
      `${header}.${payload}.${other.split(".")[2] ?? ""}`,
      `${header}.${other.split(".")[1] ?? ""}x.${signature}`,
      `${token}A`,
      token.slice(0, -4),
    ];
    for (const one of changed) expect(await verdict(one)).not.toBe("accepted");
  });

  it("affects no other server", async () => {
    const token = await issuer.token();
    expect(await createClocked().verdict(token)).toBe("accepted");
    const stranger = createIssuer({ kid: "stranger" });
    expect(await createClocked({ verificationKeys: [stranger.publicPem] }).verdict(token)).toBe("signature");
    expect(await createClocked({ audience: "other" }).verdict(token)).toBe("audience");
  });
});

describe("the token cache", () => {
  it("does not keep a rejected token", async () => {
    const { verdict } = createClocked();
    const token = await issuer.token({ exp: NOW - 1 });
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(token)).toBe("expired");
    expect(verified()).toBe(3);
  });

  it("keeps nothing if it is false", async () => {
    const { verdict } = createClocked({ tokenCache: false });
    const token = await issuer.token();
    for (let turn = 0; turn < 3; turn += 1) expect(await verdict(token)).toBe("accepted");
    expect(verified()).toBe(3);
  });

  it("keeps at most maxEntries tokens", async () => {
    const { verdict } = createClocked({ tokenCache: { maxEntries: 4 } });
    const tokens = await Promise.all([...Array(5).keys()].map((jti) => issuer.token({ jti: String(jti) })));
    for (const token of tokens) await verdict(token);
    verified();
    for (const token of [...tokens].reverse()) await verdict(token);
    expect(verified()).toBeGreaterThanOrEqual(1);
  });

  it("does not skip the checks of scopes and revocation", async () => {
    let revoked = false;
    const { server, verdict } = createClocked({ isRevoked: () => revoked });
    const token = await issuer.token({ scopes: ["agents:read"] });
    const statusOf = async (target: string) => {
      const decision = await server.check({ method: "GET", target, authorization: `Bearer ${token}` });
      return decision.allowed ? "allowed" : decision.reason;
    };
    expect(await statusOf("/agents")).toBe("allowed");
    expect(await statusOf("/teams")).toBe("scope_insufficient");
    revoked = true;
    expect(await verdict(token)).toBe("revoked");
    revoked = false;
    expect(await verdict(token)).toBe("accepted");
    expect(verified()).toBe(1);
  });

  it("forgets a token whose key is no longer in use, and no other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "scopegate-cache-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "jwks.json");
    writeFileSync(file, JSON.stringify(setOf(first, second)));
    const { verdict } = createClocked({ keys: { jwksFile: file } });
    const [withdrawn, kept] = [await first.token(), await second.token()];
    for (const token of [withdrawn, kept]) expect(await verdict(token)).toBe("accepted");
    writeFileSync(file, JSON.stringify({ ...setOf(second), changed: true }));
    expect(await verdict(withdrawn)).toBe("key");
    verified();
    expect([await verdict(kept), verified()]).toEqual(["accepted", 0]);
  });
});
