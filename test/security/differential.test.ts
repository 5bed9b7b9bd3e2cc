import { createPublicKey, createSecretKey } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Algorithm } from "scopegate";
import { DIFFERENCES, type Verdict } from "./differences.ts";
import { isAcceptedBy, PEERS, type Peer } from "./peers.ts";
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
  const differences = new Map<string, Verdict>();

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
      const notBy: Peer[] = [];
      for (const peer of PEERS) if ((await isAcceptedBy(peer, judged)) !== isAcceptedHere) notBy.push(peer);
      if (notBy.length > 0)
        differences.set(tokenCase.name, { here: isAcceptedHere ? "accepted" : "refused", notBy });
    }
  });
  afterAll(() => void vi.useRealTimers());

  it("compares more than a few tokens", () => {
    expect(all.length).toBeGreaterThan(200);
  });

  it("returns different verdicts only for the listed tokens, each with a reason", () => {
    const explained = DIFFERENCES.map(({ tokens }) => Object.entries(tokens)).flat();
    expect(Object.fromEntries(differences)).toEqual(Object.fromEntries(explained));
    expect(explained).toHaveLength(differences.size);
    for (const { why } of DIFFERENCES) expect(why).toMatch(/^[A-Za-z].{30,}\.$/);
  });

  it("accepts no token that every other library rejects", () => {
    const alone = [...differences].filter(
      ([, { here, notBy }]) => here === "accepted" && notBy.length === PEERS.length,
    );
    expect(alone).toEqual([]);
  });
});
