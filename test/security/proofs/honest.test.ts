/** Honest requests in other valid spellings, which a server must accept. */
import { describe, expect, it } from "vitest";
import {
  ALICE,
  ALICE_TOKEN,
  boundTo,
  callerOf,
  EDWARDS_CALLER,
  NOW,
  ORIGIN,
  proofOf,
  proofsAroundLimit,
  RSA_CALLER,
  sent,
  sentBy,
  type Sent,
  thumbprintOf,
  tokenWith,
} from "./forge.ts";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { checkDirectly, createService, outcomeOf, SERVICES } from "./service.ts";

const outcomeFor = async (request: Sent, { server } = SERVICES.plain): Promise<string> =>
  outcomeOf((await checkDirectly(server, request)).decision);

describe("a server with DPoP", () => {
  // How URIs are normalized is tested with `normalizeUri`.
  it.each<readonly string[]>([
    ["https://api.example/agents/7"],
    ["HTTPS://API.Example:443/x/../agents/%37?view=full#top"],
    ["https://api.example/agents/7?https://evil.example/#/"],
    ["https://api.example/agents/a%3ab", "/agents/a%3Ab"],
    ["https://api.example/agents/%C3%A9", "/agents/%c3%a9"],
    ["https://api.example/agents/a%7eb", "/agents/a~b"],
    ["https://api.example/agents/a~b", "/agents/a%7Eb"],
    ["https://api.example/agents/a|b", "/agents/a|b"],
    ["https://api.example/agents/7", "/agents/7?view=full"],
    ["https://api.example/agents/7", "http://evil.example/agents/7"],
  ])("allows the htu %s for the target %s", async (htu = "", target = "/agents/7") => {
    expect(await outcomeFor(sentBy({ claims: { htu } }, { target }))).toBe("allowed");
  });

  it.each(["dpop+jwt", "DPoP+JWT", "application/dpop+jwt"])(
    "allows the type %s (RFC 7515 section 4.1.9)",
    async (typ) => {
      expect(await outcomeFor(sentBy({ header: { typ } }))).toBe("allowed");
    },
  );

  it.each(["DPoP", "dpop", "DPOP", "dPoP"])(
    "allows the scheme %s (RFC 9110 section 11.1)",
    async (scheme) => {
      const fields = [
        ["Authorization", `${scheme} ${ALICE_TOKEN}`],
        ["DPoP", proofOf()],
      ] as const;
      expect(await outcomeFor({ fields })).toBe("allowed");
    },
  );

  it.each([
    ALICE,
    EDWARDS_CALLER,
    { ...EDWARDS_CALLER, alg: "Ed25519" },
    RSA_CALLER,
    { ...RSA_CALLER, alg: "PS256" },
  ])("allows proofs of $alg", async (caller) => {
    expect(await outcomeFor(sentBy({ caller }))).toBe("allowed");
  });

  it.each(["ES384", "ES512"] as const)("allows proofs of %s if the options do", async (alg) => {
    const caller = callerOf(alg, generateKey("ec", { namedCurve: alg === "ES384" ? "P-384" : "P-521" }));
    expect(await outcomeFor(sentBy({ caller }), createService({ algorithms: [alg] }))).toBe("allowed");
  });

  it.each([NOW, NOW - 300, NOW + 5, NOW - 0.5, NOW + 4.5])("allows the iat %d", async (iat) => {
    expect(await outcomeFor(sentBy({ claims: { iat } }))).toBe("allowed");
  });

  it.each([
    { jti: "x".repeat(256) },
    { jti: "\u00e9" },
    { exp: NOW + 60 },
    { nbf: NOW - 60 },
    { nonce: "of another server" },
    { aud: "another", iss: "another", sub: "another" },
    { extra: { nested: [1, 2, 3] } },
  ])("allows the claims %j", async (claims) => {
    expect(await outcomeFor(sentBy({ claims }))).toBe("allowed");
  });

  it.each([
    { use: "sig" },
    { key_ops: ["verify"] },
    { alg: "ES256" },
    { kid: "key-1" },
    { ext: true },
    { x5c: ["MIIB"] },
    Object.fromEntries(Object.entries(ALICE.jwk).reverse()),
  ])("allows a key with %j", async (members) => {
    expect(await outcomeFor(sentBy({ header: { jwk: { ...members, ...ALICE.jwk } } }))).toBe("allowed");
  });

  it.each([{ unknown: true }, { jwk: ALICE.jwk }, { "x5t#S256": "x" }])(
    "ignores the member %j next to jkt",
    async (members) => {
      const token = tokenWith({ cnf: { jkt: thumbprintOf(ALICE.jwk), ...members } });
      expect(await outcomeFor(sent(token, proofOf({ token })))).toBe("allowed");
    },
  );

  it("allows the longest proof, and the headers of earlier proofs of a token", async () => {
    const other = boundTo(ALICE.jwk, { jti: "other" });
    const proofs = [proofsAroundLimit().longest, proofOf(), proofOf({ header: { kid: "key-1" } }), proofOf()];
    const requests = [...proofs.map((proof) => sent(ALICE_TOKEN, proof)), sentBy({ token: other }), sentBy()];
    for (const request of requests) expect(await outcomeFor(request)).toBe("allowed");
  });

  it("allows an unbound token as Bearer without a proof", async () => {
    expect(await outcomeFor({ fields: [["Authorization", `Bearer ${tokenWith()}`]] })).toBe("allowed");
  });

  it("allows a bound token where a key is required", async () => {
    expect(await outcomeFor(sentBy(), SERVICES.required)).toBe("allowed");
    const paid = sentBy({ claims: { htu: `${ORIGIN}/payments` } }, { target: "/payments" });
    expect(await outcomeFor(paid)).toBe("allowed");
  });

  it("allows several origins", async () => {
    const origins = ["https://a.example", "https://b.example:8443", ORIGIN];
    const service = createService({ origins });
    for (const origin of origins) {
      const token = boundTo(ALICE.jwk, { jti: origin });
      const claims = { htu: `${origin}/agents/7` };
      expect(await outcomeFor(sentBy({ token, claims }), service)).toBe("allowed");
    }
    expect(await outcomeFor(sentBy({ claims: { htu: "https://b.example/agents/7" } }), service)).toBe("htu");
  });

  it.each([{}, { htm: "POST" }])("keeps a proof out of what hooks receive, with %j", async (claims) => {
    const seen: unknown[] = [];
    const { server } = createService({}, { onDecision: (...values) => void seen.push(values.slice(0, 2)) });
    const request = sentBy({ claims });
    await checkDirectly(server, request);
    expect(seen).toHaveLength(1);
    for (const [, value] of request.fields) expect(JSON.stringify(seen)).not.toContain(value.slice(-30));
  });
});
