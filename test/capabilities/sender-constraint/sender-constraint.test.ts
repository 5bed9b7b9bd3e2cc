import { describe, expect, it, vi } from "vitest";
import type { AccessRequest, Decision, ResourceServer } from "scopegate";
import { memoryStore, type Store } from "scopegate/store";
import { createTestIssuer, testProofRejections } from "scopegate/testing";
import { explain } from "scopegate/explain";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";

const ORIGIN = "https://api.example";
const TARGET = "/agents/web";
const DPOP = { dpop: { origins: [ORIGIN] } } as const;
const ALGORITHMS = 'algs="ES256 EdDSA Ed25519 PS256 RS256"';

const issuer = createTestIssuer();
const TABLE = {
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "POST /payments": { scopes: ["payments:write"], senderConstrained: true as const },
  "GET /health": "public" as const,
};

const serverWith = (options: Partial<ResourceServerOptions> = {}): ResourceServer =>
  createResourceServer({
    ...issuer.resourceServerOptions,
    scopeMappings: TABLE,
    senderConstraint: DPOP,
    ...options,
  });

const SCOPES = ["agents:read", "payments:write"];

type Sent = Partial<AccessRequest> & { readonly proof?: string | readonly string[] | undefined };

const send = (server: ResourceServer, { proof, ...sent }: Sent): Promise<Decision> =>
  server.check({ method: "GET", target: TARGET, ...(proof && { headers: { dpop: proof } }), ...sent });

const outcomeOf = (decision: Decision): string =>
  decision.allowed ? "allowed" : [decision.reason, decision.proofRejection].filter(Boolean).join(" ");

const challengeOf = (server: ResourceServer, decision: Decision): string | undefined =>
  decision.allowed ? "allowed" : server.refuse(decision).headers["WWW-Authenticate"];

/** A request with a token and its proof. */
async function createProven({
  method = "GET",
  target = TARGET,
  url = ORIGIN + target,
  token,
  ...others
}: Partial<Parameters<typeof issuer.proofFor>[0]> & { target?: string } = {}) {
  const sentToken = token ?? (await issuer.token({ bound: "dpop", scopes: SCOPES }));
  const proof = await issuer.proofFor({ method, url, token: sentToken, ...others });
  return { method, target, authorization: `DPoP ${sentToken}`, proof };
}

describe("a token that is bound to a key", () => {
  it("accepts it with a proof of its key, and the decision names the binding", async () => {
    const decision = await send(serverWith(), await createProven());
    expect(outcomeOf(decision)).toBe("allowed");
    expect(decision.principal?.binding).toBe("dpop");
  });

  it.each(testProofRejections)("refuses it with a proof that has the mistake %s", async (rejectedAs) => {
    const server = serverWith({
      senderConstraint: { dpop: { origins: [ORIGIN], nonce: rejectedAs === "nonce" } },
    });
    const decision = await send(server, await createProven({ rejectedAs }));
    expect(outcomeOf(decision)).toBe(`proof_rejected ${rejectedAs}`);
    const error = rejectedAs === "nonce" ? "use_dpop_nonce" : "invalid_dpop_proof";
    expect(challengeOf(server, decision)).toMatch(new RegExp(`^DPoP error="${error}", .*algs="[^"]+"$`));
    // For logs: the caller that the token was issued to.
    expect(decision.principal?.userId).toBe("user-1");
  });

  it("accepts it once if two sources read the header Authorization with a scheme", async () => {
    const tokenSources = [{ header: "authorization" }, { header: "authorization", scheme: "Token" }];
    expect(outcomeOf(await send(serverWith({ tokenSources }), await createProven()))).toBe("allowed");
  });

  it("does not make an expired or revoked token valid", async () => {
    const server = serverWith({ isRevoked: ({ userId }) => userId === "user-9" });
    for (const options of [{ rejectedAs: "expired" as const }, { userId: "user-9" }]) {
      const token = await issuer.token({ bound: "dpop", scopes: SCOPES, ...options });
      const decision = await send(server, await createProven({ token }));
      expect(outcomeOf(decision)).toBe("token_rejected");
      expect(challengeOf(server, decision)).toMatch(/^DPoP error="invalid_token", .*algs=/);
    }
  });
});

describe("the jti of a proof", () => {
  const REFUSING: ResourceServerOptions["scopeMappings"] = {
    "GET /agents/:agent_id": ["agents:<agent_id>:write"],
    "GET /tenants/:tenant": { scopes: [], where: { tenant: { claim: "tenant" } } },
    "GET /clients": { scopes: [], clients: ["other"] },
    "GET /actors": { scopes: [], actors: { anyOf: ["agent-1"] } },
    "GET /login": { scopes: [], acr: { anyOf: ["urn:example:mfa"] } },
    "GET /fresh": { scopes: [], maxAuthAgeSeconds: 60 },
  };

  /** A server whose store counts the proofs that it receives. */
  const createCounting = (options: Partial<ResourceServerOptions> = {}, replay: Store = memoryStore()) => {
    const set = vi.fn<Store["set"]>((...entry) => replay.set(...entry));
    const senderConstraint = { dpop: { origins: [ORIGIN], replay: { ...replay, set } } };
    return { set, server: serverWith({ senderConstraint, ...options }) };
  };

  it.each([
    [TARGET, "scope_insufficient"],
    ["/tenants/acme", "caller_not_allowed"],
    ["/clients", "caller_not_allowed"],
    ["/actors", "caller_not_allowed"],
    ["/login", "authentication_insufficient"],
    ["/fresh", "authentication_insufficient"],
  ])("refuses a request to %s as %s without storing it, also if it was used", async (target, reason) => {
    const onDecision = vi.fn<NonNullable<ResourceServerOptions["onDecision"]>>();
    const { server, set } = createCounting({ scopeMappings: REFUSING, onDecision });
    const sent = await createProven({ target });
    for (let turn = 0; turn < 2; turn += 1) expect(await send(server, sent)).toMatchObject({ reason });
    expect(set).not.toHaveBeenCalled();
    expect(onDecision).toHaveBeenCalledTimes(2);
  });

  it("doesn't delay or change a refusal while the store is down", async () => {
    const { server } = createCounting(
      { scopeMappings: REFUSING },
      { ...memoryStore(), set: () => Promise.reject(new Error("The store is down.")) },
    );
    expect(outcomeOf(await send(server, await createProven()))).toBe("scope_insufficient");
  });

  it("stores it once for a request that a shadow table also decides, with one decision each", async () => {
    const onDecision = vi.fn<NonNullable<ResourceServerOptions["onDecision"]>>();
    const options = { shadow: { scopeMappings: REFUSING }, onDecision };
    const { server, set } = createCounting(options);
    const sent = await createProven();
    const outcomes = [outcomeOf(await send(server, sent)), outcomeOf(await send(server, sent))];
    expect(outcomes).toEqual(["allowed", "proof_rejected replayed"]);
    expect(set).toHaveBeenCalledTimes(2);
    expect(onDecision.mock.calls.map(([decision]) => outcomeOf(decision))).toEqual(outcomes);
    expect(onDecision.mock.calls.map(([{ shadow }]) => shadow)).toMatchObject([
      { reason: "scope_insufficient" },
      "undecided",
    ]);
  });

  it("stores it once for guards that run at the same time for one request", async () => {
    const { server, set } = createCounting();
    const sent = { ...(await createProven()), raw: {} };
    const decisions = await Promise.all([send(server, sent), send(server, sent), send(server, sent)]);
    expect(decisions.map(outcomeOf)).toEqual(["allowed", "allowed", "allowed"]);
    expect(set).toHaveBeenCalledOnce();
  });
});

describe("the cause of a refusal, for logs", () => {
  type Case = readonly [scheme: string, proof: Sent["proof"], facts: object];
  const NOT_DPOP = "The token is bound to a key, but wasn't sent with the scheme DPoP.";

  it.each<Case>([
    ["Bearer", undefined, { cause: NOT_DPOP, binding: "dpop" }],
    ["DPoP", undefined, { cause: "The request has no header DPoP.", binding: "dpop" }],
    ["DPoP", ["a", "b"], { cause: "The request has several DPoP headers." }],
    ["DPoP", "a", { cause: "The header DPoP isn't one JWT of at most 8,192 bytes." }],
  ])("explains the scheme %s with the proof %j", async (scheme, proof, facts) => {
    const token = await issuer.token({ bound: "dpop", scopes: SCOPES });
    const decision = await send(serverWith(), { authorization: `${scheme} ${token}`, proof });
    expect(decision).toMatchObject(facts);
  });

  it.each([
    ["Bearer", "The request has a proof, but its token wasn't sent with the scheme DPoP."],
    ["DPoP", "The token isn't bound to a key (`cnf.jkt`)."],
  ])("explains the scheme %s with a proof for a token that is not bound", async (scheme, cause) => {
    const token = await issuer.token({ scopes: SCOPES });
    const { proof } = await createProven({ token });
    expect(await send(serverWith(), { authorization: `${scheme} ${token}`, proof })).toMatchObject({ cause });
  });

  it("explains that the proof is for another URI", async () => {
    const decision = await send(serverWith(), await createProven({ url: `${ORIGIN}/elsewhere` }));
    expect(decision).toMatchObject({ cause: "The URI isn't one of `origins` with the path of the request." });
  });
});

describe("a proof that several guards of one request check", () => {
  it.each([
    ["token", async () => ({ authorization: `DPoP ${await issuer.token({ bound: "dpop" })}` }), "ath"],
    ["method", () => ({ method: "HEAD" }), "htm"],
    ["target", () => ({ target: "/agents/other" }), "htu"],
  ] as const)("checks it again if the %s is another one", async (_, change, rejection) => {
    const server = serverWith();
    const sent = { ...(await createProven()), raw: {} };
    expect(outcomeOf(await send(server, sent))).toBe("allowed");
    expect(outcomeOf(await send(server, { ...sent, ...(await change()) }))).toBe(
      `proof_rejected ${rejection}`,
    );
  });

  it("checks it again after the store of proofs has failed", async () => {
    const store = memoryStore();
    const set = vi.fn<Store["set"]>().mockRejectedValueOnce(new Error("The store is down."));
    set.mockImplementation((...entry) => store.set(...entry));
    const server = serverWith({
      senderConstraint: { dpop: { origins: [ORIGIN], replay: { ...store, set } } },
    });
    const sent = { ...(await createProven()), raw: {} };
    const outcomes: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) outcomes.push(outcomeOf(await send(server, sent)));
    expect(outcomes).toEqual(["keys_unavailable", "allowed", "allowed"]);
  });
});

describe("a hypothetical caller", () => {
  it("refuses it without a key where the rule requires one, and allows it with `cnf`", () => {
    const payment = { method: "POST", path: "/payments", scopes: SCOPES };
    expect(outcomeOf(explain(serverWith(), payment).decision)).toBe("proof_missing");
    const claims = { cnf: { "x5t#S256": "certificate" } };
    expect(outcomeOf(explain(serverWith(), { ...payment, claims }).decision)).toBe("allowed");
  });
});

describe("a credential of the scheme DPoP that cannot be read", () => {
  it.each([
    ["without a token", "DPoP", "credential_malformed"],
    ["with two tokens", "DPoP a,b", "credential_malformed"],
    ["over the size limit", `DPoP ${"a".repeat(20_000)}`, "token_rejected"],
  ])("%s is refused under this scheme", async (_name, authorization, reason) => {
    const server = serverWith();
    const decision = await send(server, { authorization });
    expect(decision).toMatchObject({ reason });
    expect(challengeOf(server, decision)).toMatch(/^DPoP error="\w+", .*algs="[^"]+"$/);
  });
});

it("names the claim cnf of a token that it rejects, under either scheme", async () => {
  const token = await issuer.token({ scopes: SCOPES, claims: { cnf: {} } });
  for (const scheme of ["Bearer", "DPoP"]) {
    const decision = await send(serverWith(), { authorization: `${scheme} ${token}` });
    expect(decision).toMatchObject({ reason: "token_rejected", claim: "cnf" });
  }
});

describe("challenges and metadata", () => {
  const RESOURCE = { id: `${ORIGIN}/`, scopesSupported: ["agents:read"] };
  const METADATA = `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource"`;

  it("offer both schemes without a credential, and only DPoP if every token needs a proof", async () => {
    const options = { resource: RESOURCE, audience: [ORIGIN, "scopegate-tests"] };
    const server = serverWith(options);
    expect(challengeOf(server, await send(server, {}))).toBe(`Bearer ${METADATA}, DPoP ${ALGORITHMS}`);
    const strict = serverWith({ ...options, senderConstraint: { ...DPOP, required: true } });
    expect(challengeOf(strict, await send(strict, {}))).toBe(`DPoP ${ALGORITHMS}, ${METADATA}`);
    expect(server.resource?.metadata).toMatchObject({
      dpop_signing_alg_values_supported: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
    });
    expect(server.resource?.metadata).not.toHaveProperty("dpop_bound_access_tokens_required");
    expect(strict.resource?.metadata).toMatchObject({ dpop_bound_access_tokens_required: true });
    // A token that is bound to a certificate needs no proof.
    const both = { ...DPOP, mtls: { from: "socket" }, required: true } as const;
    const either = serverWith({ ...options, senderConstraint: both });
    expect(either.resource?.metadata).not.toHaveProperty("dpop_bound_access_tokens_required");
    expect(challengeOf(either, await send(either, {}))).toBe(`Bearer ${METADATA}, DPoP ${ALGORITHMS}`);
  });
});
