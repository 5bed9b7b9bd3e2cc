/** The cost of a request with a DPoP proof, against jose verifying the same proofs alone, and of a full store. */
import { createHash, createPublicKey, type KeyObject, randomUUID, sign } from "node:crypto";
import { EmbeddedJWK } from "jose/jwk/embedded";
import { jwtVerify } from "jose/jwt/verify";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { generateKey } from "../src/tools/testing/test-key.ts";
import { type Benchmark, createBudget } from "./benchmark.ts";
import { createResourceServer, importEntry } from "./built.ts";
import { awaited, compare, findMeasured, medianOf, ratioOf, toRows } from "./compare.ts";
import { AUDIENCE, claimsOf, createSigner } from "./tokens.ts";
import type * as bound from "scopegate/sender-constraint";
import type * as stores from "scopegate/store";

const { senderConstraint } = await importEntry<typeof bound>("sender-constraint");
const { memoryStore } = await importEntry<typeof stores>("store");

const ORIGIN = "https://api.example";
const TARGET = "/agents/web";

const JOSE = "jose, the proof alone";
const REQUEST = "a request with a proof";
const WITHOUT = "a bearer token, without senderConstraint";
const BEARER = "a bearer token, with senderConstraint";
const FULL = "a full memory store, one more entry";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");
const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

/**
 * Returns the CPU time of one more entry in a full store, in microseconds. The times of proofs are the clients', so
 * entries end in any order, and more are added than end.
 */
async function measureFullStore(maxEntries: number): Promise<number> {
  const lifetimeMs = 360_000;
  let now = Date.now();
  let added = 0;
  const store = memoryStore({ maxEntries, now: () => now });
  const add = async (count: number, stepMs: number): Promise<void> => {
    for (let end = added + count; added < end; added += 1) {
      now += stepMs;
      const ttlMs = 1 + ((added * 7_919) % lifetimeMs);
      await store
        .set(`replay:${String(added).padStart(43, "x")}`, "1", { ttlMs, ifAbsent: true })
        .catch(() => false);
    }
  };
  await add(maxEntries, 0);
  const samples: number[] = [];
  const count = maxEntries / 100;
  for (let round = 0; round < 30; round += 1) {
    const before = process.cpuUsage();
    await add(count, lifetimeMs / maxEntries / 3);
    const { user, system } = process.cpuUsage(before);
    samples.push((user + system) / count);
  }
  return medianOf(samples);
}

/** Creates the proofs in advance: each can be used once, and signing must not be measured. */
function createProofs(privateKey: KeyObject, jwk: object, token: string, count: number): readonly string[] {
  const header = encode({ typ: "dpop+jwt", alg: "ES256", jwk });
  const iat = Math.floor(Date.now() / 1000);
  const [htu, ath] = [ORIGIN + TARGET, sha256(token)];
  return Array.from({ length: count }, () => {
    const input = `${header}.${encode({ htm: "GET", htu, ath, iat, jti: randomUUID() })}`;
    const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${input}.${signature.toString("base64url")}`;
  });
}

export const dpop: Benchmark = {
  name: "dpop",
  title: "DPoP: CPU time of a request with a proof (ES256), and of requests without",
  isGuard: false,
  async run({ quick, check }) {
    const privateKey = generateKey("ec", { namedCurve: "P-256" });
    const jwk = createPublicKey(privateKey).export({ format: "jwk" });
    const signer = createSigner("HS256");
    const options = {
      serviceId: AUDIENCE,
      algorithm: "HS256" as const,
      verificationKeys: [signer.text],
      scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
    };
    const checked = senderConstraint({ dpop: { origins: [ORIGIN], windowSeconds: 3600 } });
    const server = createResourceServer({ ...options, senderConstraint: checked });
    const plain = createResourceServer(options);
    const claims = { ...claimsOf(), scopes: ["agents:web:read"] };
    const bearer = `Bearer ${signer.sign(claims)}`;
    const token = signer.sign({ ...claims, cnf: { jkt: await calculateJwkThumbprint(jwk) } });
    const authorization = `DPoP ${token}`;

    const rounds =
      quick || check
        ? { count: 10, us: 10_000, warmUpUs: 100_000 }
        : { count: 60, us: 20_000, warmUpUs: 500_000 };
    const proofs = createProofs(privateKey, jwk, token, quick || check ? 20_000 : 60_000);
    let used = 0;
    const nextProof = (): string => {
      const proof = proofs[used];
      if (proof === undefined) throw new Error("All proofs are used.");
      used += 1;
      return proof;
    };
    const request = async (asked: typeof server, credential: object): Promise<void> => {
      const decision = await asked.check({ method: "GET", target: TARGET, ...credential });
      if (!decision.allowed) throw new Error(`The request is refused: ${decision.reason}.`);
    };
    const withProof = await compare(
      [
        awaited(JOSE, async () => {
          await jwtVerify(nextProof(), EmbeddedJWK, { typ: "dpop+jwt", algorithms: ["ES256"] });
        }),
        awaited(REQUEST, () => request(server, { authorization, headers: { dpop: nextProof() } })),
      ],
      rounds,
    );
    const withoutProof = await compare(
      [
        awaited(WITHOUT, () => request(plain, { authorization: bearer })),
        awaited(BEARER, () => request(server, { authorization: bearer })),
      ],
      rounds,
    );
    const fullUs = await measureFullStore(quick || check ? 100_000 : 1_000_000);
    return {
      rows: [
        ...toRows("ES256", withProof, JOSE),
        ...toRows("no proof", withoutProof, WITHOUT),
        { group: "store of proofs", name: FULL, value: fullUs, unit: "us" },
      ],
      budgets: [
        createBudget(
          `${REQUEST}: against ${JOSE}`,
          ratioOf(findMeasured(withProof, REQUEST), findMeasured(withProof, JOSE)),
          1.25,
        ),
        createBudget(FULL, fullUs, 5, "us"),
      ],
    };
  },
};
