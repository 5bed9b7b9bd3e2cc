import { createPublicKey, createSecretKey } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Algorithm } from "scopegate";
import { DIFFERENCES } from "./differences.ts";
import { isAcceptedBy, PEERS } from "./peers.ts";
import { TOKEN_CASES, type TokenCase, verdictOf } from "./tokens.ts";
import { NOW, pemOf } from "./tokens/forge.ts";

/** The options that all verifiers support. Tokens that need other options cannot be compared. */
const COMMON = ["algorithm", "verificationKeys"];

interface Comparable {
  readonly tokenCase: TokenCase;
  readonly algorithm: Algorithm;
  readonly key: string;
}

function comparable(tokenCase: TokenCase): readonly Comparable[] {
  const { options = {}, pollution, expected } = tokenCase;
  if (pollution || Object.keys(options).some((name) => !COMMON.includes(name))) return [];
  // Skips invalid options, and `too_large`, which depends on the size limit.
  if (expected.includes("_") && expected !== "not_yet_valid") return [];
  const [key = pemOf("rsa"), ...more] = options.verificationKeys ?? [];
  if (typeof key !== "string" || key.startsWith("{") || more.length > 0) return [];
  return [{ tokenCase, algorithm: options.algorithm ?? "RS256", key }];
}

const all = Object.values(TOKEN_CASES).flat().flatMap(comparable);

const keyObjectOf = (key: string, algorithm: Algorithm) =>
  algorithm.startsWith("HS")
    ? createSecretKey(key, "utf8")
    : createPublicKey(key.replaceAll("\\n", "\n").trim());

describe("scopegate, compared with jose, jsonwebtoken, fast-jwt and hono/jwt", () => {
  const refusedHereOnly: string[] = [];
  const acceptedHereOnly: string[] = [];

  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 });
    for (const { tokenCase, algorithm, key } of all) {
      const isAcceptedHere = (await verdictOf(tokenCase)) === "accepted";
      const judged = {
        token: tokenCase.token,
        algorithm,
        key,
        keyObject: keyObjectOf(key.replace("\uFEFF", ""), algorithm),
        audience: "agents-prod",
      };
      const verdicts = new Set<boolean>();
      for (const peer of PEERS) verdicts.add(await isAcceptedBy(peer, judged));
      if (verdicts.size > 1 || verdicts.has(isAcceptedHere)) continue;
      (isAcceptedHere ? acceptedHereOnly : refusedHereOnly).push(tokenCase.name);
    }
  });
  afterAll(() => void vi.useRealTimers());

  it("compares more than a few tokens", () => {
    expect(all.length).toBeGreaterThan(200);
  });

  it("refuses a token that every other library accepts only for a reason", () => {
    expect(refusedHereOnly.sort()).toEqual(DIFFERENCES.flatMap(({ tokens }) => tokens).sort());
    for (const { why } of DIFFERENCES) expect(why).toMatch(/^[A-Za-z].{30,}\.$/);
  });

  it("accepts no token that every other library rejects", () => {
    expect(acceptedHereOnly).toEqual([]);
  });
});
