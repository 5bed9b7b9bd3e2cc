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
const boundToken = (): Promise<string> => issuer.token({ bound: "dpop", scopes: SCOPES });
const bearerToken = (): Promise<string> => issuer.token({ scopes: SCOPES });

type Sent = Partial<AccessRequest> & { readonly proof?: string | readonly string[] | undefined };

const send = (server: ResourceServer, { proof, ...sent }: Sent): Promise<Decision> =>
  server.check({ method: "GET", target: TARGET, ...(proof && { headers: { dpop: proof } }), ...sent });

const outcomeOf = (decision: Decision): string =>
  decision.allowed ? "allowed" : [decision.reason, decision.proofRejection].filter(Boolean).join(" ");

const challengeOf = (server: ResourceServer, decision: Decision): string | undefined =>
  decision.allowed ? "allowed" : server.refuse(decision).headers["WWW-Authenticate"];

/** Sends a bound token with its proof. */
async function sendProven(
  server: ResourceServer,
  {
    method = "GET",
    target = TARGET,
    url = ORIGIN + target,
    ...others
  }: Partial<Parameters<typeof issuer.proofFor>[0]> & { target?: string } = {},
): Promise<Decision> {
  const token = await boundToken();
  const proof = await issuer.proofFor({ method, url, token, ...others });
  return send(server, { method, target, authorization: `DPoP ${token}`, proof });
}

describe("a token that is bound to a key", () => {
  it("accepts it with a proof of its key, and the decision names the binding", async () => {
    const decision = await sendProven(serverWith());
    expect(outcomeOf(decision)).toBe("allowed");
    expect(decision.principal?.binding).toBe("dpop");
  });

  it("rejects it without the option `senderConstraint`, as before", async () => {
    const scopeMappings = { "GET /agents/:agent_id": ["agents:<agent_id>:read"] };
    const server = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings });
    const decision = await send(server, { authorization: `Bearer ${await boundToken()}` });
    expect(decision).toMatchObject({ reason: "token_rejected", rejection: "claims", claim: "cnf" });
    const withScheme = await send(server, { authorization: `DPoP ${await boundToken()}` });
    expect(withScheme).toMatchObject({ reason: "credential_missing" });
  });

  it.each(testProofRejections)("refuses it with a proof that has the mistake %s", async (rejectedAs) => {
    const server = serverWith({
      senderConstraint: { dpop: { origins: [ORIGIN], nonce: rejectedAs === "nonce" } },
    });
    const decision = await sendProven(server, { rejectedAs });
    expect(outcomeOf(decision)).toBe(`proof_rejected ${rejectedAs}`);
    const error = rejectedAs === "nonce" ? "use_dpop_nonce" : "invalid_dpop_proof";
    expect(challengeOf(server, decision)).toMatch(new RegExp(`^DPoP error="${error}", .*algs="[^"]+"$`));
    // For logs: the caller that the token was issued to.
    expect(decision.principal?.userId).toBe("user-1");
  });

  it("refuses it as Bearer, without a proof, with two proofs, and with one that was used", async () => {
    const server = serverWith();
    const token = await boundToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const authorization = `DPoP ${token}`;
    const outcomes = [
      await send(server, { authorization: `Bearer ${token}`, proof }),
      await send(server, { authorization }),
      await send(server, { authorization, proof: [proof, proof] }),
      await send(server, { authorization, proof: `${proof}, ${proof}` }),
      await send(server, { authorization, proof }),
      await send(server, { authorization, proof }),
    ];
    expect(outcomes.map(outcomeOf)).toEqual([
      "proof_missing",
      "proof_missing",
      "proof_rejected malformed",
      "proof_rejected malformed",
      "allowed",
      "proof_rejected replayed",
    ]);
  });

  it("accepts it once if two sources read the header Authorization with a scheme", async () => {
    const tokenSources = [{ header: "authorization" }, { header: "authorization", scheme: "Token" }];
    expect(outcomeOf(await sendProven(serverWith({ tokenSources })))).toBe("allowed");
  });

  it("rejects it in authenticate, which receives no proof", async () => {
    await expect(serverWith().authenticate(await boundToken())).rejects.toThrow("claims");
    expect((await serverWith().authenticate(await bearerToken())).binding).toBeUndefined();
  });

  it("refuses it after its proof if it lacks scopes, under the scheme that was used", async () => {
    const server = serverWith();
    const token = await issuer.token({ bound: "dpop", scopes: [] });
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const decision = await send(server, { authorization: `DPoP ${token}`, proof });
    expect(outcomeOf(decision)).toBe("scope_insufficient");
    expect(challengeOf(server, decision)).toBe(
      `DPoP error="insufficient_scope", error_description="The access token does not grant the scopes that this operation needs.", scope="agents:web:read", ${ALGORITHMS}`,
    );
    const asBearer = await send(server, { authorization: `Bearer ${await issuer.token()}` });
    expect(challengeOf(server, asBearer)).toMatch(/^Bearer error="insufficient_scope"/);
    expect(challengeOf(server, asBearer)).not.toContain("DPoP");
  });

  it("accepts it twice for one request of the platform, and once for two", async () => {
    const server = serverWith();
    const token = await boundToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const [raw, other] = [{}, {}];
    const sent = { authorization: `DPoP ${token}`, proof };
    expect(outcomeOf(await send(server, { ...sent, raw }))).toBe("allowed");
    expect(outcomeOf(await send(server, { ...sent, raw }))).toBe("allowed");
    expect(outcomeOf(await send(server, { ...sent, raw: other }))).toBe("proof_rejected replayed");
    const payment = await send(server, { ...sent, raw, method: "POST", target: "/payments" });
    expect(outcomeOf(payment)).toBe("proof_rejected htm");
  });

  it("does not make an expired or revoked token valid", async () => {
    const server = serverWith({ isRevoked: ({ userId }) => userId === "user-9" });
    for (const options of [{ rejectedAs: "expired" as const }, { userId: "user-9" }]) {
      const token = await issuer.token({ bound: "dpop", scopes: SCOPES, ...options });
      const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
      const decision = await send(server, { authorization: `DPoP ${token}`, proof });
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
    const token = await issuer.token({ bound: "dpop", scopes: SCOPES });
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + target, token });
    for (let turn = 0; turn < 2; turn += 1)
      expect(await send(server, { target, authorization: `DPoP ${token}`, proof })).toMatchObject({ reason });
    expect(set).not.toHaveBeenCalled();
    expect(onDecision).toHaveBeenCalledTimes(2);
  });

  it("doesn't delay or change a refusal while the store is down", async () => {
    const { server } = createCounting(
      { scopeMappings: REFUSING },
      { ...memoryStore(), set: () => Promise.reject(new Error("The store is down.")) },
    );
    expect(outcomeOf(await sendProven(server))).toBe("scope_insufficient");
  });

  it("stores it once for a request that a shadow table also decides, with one decision each", async () => {
    const onDecision = vi.fn<NonNullable<ResourceServerOptions["onDecision"]>>();
    const options = { shadow: { scopeMappings: REFUSING }, onDecision };
    const { server, set } = createCounting(options);
    const token = await boundToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const outcomes: string[] = [];
    for (let turn = 0; turn < 2; turn += 1)
      outcomes.push(outcomeOf(await send(server, { authorization: `DPoP ${token}`, proof })));
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
    const token = await boundToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const sent = { authorization: `DPoP ${token}`, proof, raw: {} };
    const decisions = await Promise.all([send(server, sent), send(server, sent), send(server, sent)]);
    expect(decisions.map(outcomeOf)).toEqual(["allowed", "allowed", "allowed"]);
    expect(set).toHaveBeenCalledOnce();
  });
});

describe("the cause of a refusal, for logs", () => {
  const causeOf = (decision: Decision) => (decision.allowed ? undefined : decision.cause);

  it("explains which proof is missing or wrong", async () => {
    const server = serverWith();
    const [bound, unbound] = [await boundToken(), await bearerToken()];
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token: unbound });
    const requests: readonly (readonly [Sent, string])[] = [
      [
        { authorization: `Bearer ${bound}` },
        "The token is bound to a key, but wasn't sent with the scheme DPoP.",
      ],
      [
        { authorization: `Bearer ${unbound}`, proof },
        "The request has a proof, but its token wasn't sent with the scheme DPoP.",
      ],
      [{ authorization: `DPoP ${bound}` }, "The request has no header DPoP."],
      [{ authorization: `DPoP ${bound}`, proof: ["a", "b"] }, "The request has several DPoP headers."],
      [
        { authorization: `DPoP ${bound}`, proof: "a" },
        "The header DPoP isn't one JWT of at most 8,192 bytes.",
      ],
      [{ authorization: `DPoP ${unbound}`, proof }, "The token isn't bound to a key (`cnf.jkt`)."],
    ];
    for (const [request, cause] of requests) expect(causeOf(await send(server, request))).toBe(cause);
    const url = `${ORIGIN}/elsewhere`;
    expect(causeOf(await sendProven(server, { url }))).toBe(
      "The URI isn't one of `origins` with the path of the request.",
    );
  });

  it("names the binding that is missing", async () => {
    const [bound, server] = [await boundToken(), serverWith()];
    for (const authorization of [`Bearer ${bound}`, `DPoP ${bound}`])
      expect(await send(server, { authorization })).toMatchObject({ binding: "dpop" });
  });
});

describe("a proof that several guards of one request check", () => {
  it("checks it again if the token, the method or the target is another one", async () => {
    const server = serverWith();
    const [token, other] = [await boundToken(), await issuer.token({ bound: "dpop", scopes: ["x:y"] })];
    const changes: readonly (readonly [Partial<Sent>, string])[] = [
      [{ authorization: `DPoP ${other}` }, "ath"],
      [{ method: "HEAD" }, "htm"],
      [{ target: "/agents/other" }, "htu"],
    ];
    for (const [change, rejection] of changes) {
      const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
      const sent = { authorization: `DPoP ${token}`, proof, raw: {} };
      expect(outcomeOf(await send(server, sent))).toBe("allowed");
      expect(outcomeOf(await send(server, { ...sent, ...change }))).toBe(`proof_rejected ${rejection}`);
    }
  });

  it("checks it again after the store of proofs has failed", async () => {
    const store = memoryStore();
    let isDown = true;
    const set: Store["set"] = (...entry) => {
      if (isDown) throw new Error("The store is down.");
      return store.set(...entry);
    };
    const server = serverWith({
      senderConstraint: { dpop: { origins: [ORIGIN], replay: { ...store, set } } },
    });
    const token = await boundToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const sent = { authorization: `DPoP ${token}`, proof, raw: {} };
    expect(outcomeOf(await send(server, sent))).not.toBe("allowed");
    isDown = false;
    expect(outcomeOf(await send(server, sent))).toBe("allowed");
    expect(outcomeOf(await send(server, sent))).toBe("allowed");
  });
});

describe("a token that is not bound to a key", () => {
  it("accepts it as a bearer token, unless a rule or the server requires a key", async () => {
    const authorization = `Bearer ${await bearerToken()}`;
    const server = serverWith();
    expect(outcomeOf(await send(server, { authorization }))).toBe("allowed");
    const payment = await send(server, { method: "POST", target: "/payments", authorization });
    expect(payment).toMatchObject({ reason: "proof_missing", condition: "senderConstrained" });
    expect(challengeOf(server, payment)).toMatch(/^DPoP error="invalid_token", .*algs=/);
    expect(outcomeOf(await sendProven(server, { method: "POST", target: "/payments" }))).toBe("allowed");
    const strict = serverWith({ senderConstraint: { ...DPOP, required: true } });
    expect(outcomeOf(await send(strict, { authorization }))).toBe("proof_missing");
    expect(outcomeOf(await sendProven(strict))).toBe("allowed");
  });

  it("refuses it with the scheme DPoP, and with a proof next to it", async () => {
    const server = serverWith({ tokenSources: [{ header: "authorization" }, { cookie: "access_token" }] });
    const token = await bearerToken();
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    const outcomes = [
      await send(server, { authorization: `DPoP ${token}`, proof }),
      await send(server, { authorization: `Bearer ${token}`, proof }),
      await send(server, { cookie: `access_token=${token}`, proof }),
      await send(server, { cookie: `access_token=${await boundToken()}` }),
      await send(server, { cookie: `access_token=${token}` }),
    ];
    expect(outcomes.map(outcomeOf)).toEqual([
      "proof_rejected binding",
      "proof_rejected scheme",
      "proof_rejected scheme",
      "proof_missing",
      "allowed",
    ]);
  });
});

describe("a hypothetical caller", () => {
  it("refuses it without a key where every token needs one, and allows it with `cnf`", () => {
    const strict = serverWith({ senderConstraint: { ...DPOP, required: true } });
    const query = { method: "GET", path: TARGET, scopes: SCOPES };
    expect(outcomeOf(explain(strict, query).decision)).toBe("proof_missing");
    expect(outcomeOf(explain(strict, { ...query, claims: { cnf: { jkt: "key" } } }).decision)).toBe(
      "allowed",
    );
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

describe("the claim cnf", () => {
  const thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
  it.each([
    ["an array", ["jkt"]],
    ["a string", "jkt"],
    ["null", null],
    ["an empty object", {}],
    ["only unknown members", { jwk: {}, kid: "key-1" }],
    ["the thumbprint of a certificate, which this server cannot check", { "x5t#S256": thumbprint }],
    ["a number as thumbprint", { jkt: 1 }],
    ["a thumbprint with padding", { jkt: `${thumbprint}=` }],
    ["a thumbprint of another length", { jkt: thumbprint.slice(1) }],
    ["a thumbprint in another spelling", { jkt: `${thumbprint.slice(0, -1)}J` }],
  ])("makes a token unusable if it is or has %s", async (_name, cnf) => {
    const token = await issuer.token({ scopes: SCOPES, claims: { cnf } });
    for (const scheme of ["Bearer", "DPoP"]) {
      const decision = await send(serverWith(), { authorization: `${scheme} ${token}` });
      expect(decision).toMatchObject({ reason: "token_rejected", claim: "cnf" });
    }
  });

  it("accepts unknown properties next to one that is checked", async () => {
    const bound = await boundToken();
    const payload = JSON.parse(Buffer.from(bound.split(".")[1] ?? "", "base64url").toString()) as {
      readonly cnf: object;
    };
    const token = await issuer.token({ scopes: SCOPES, claims: { cnf: { ...payload.cnf, kid: "x" } } });
    const proof = await issuer.proofFor({ method: "GET", url: ORIGIN + TARGET, token });
    expect(outcomeOf(await send(serverWith(), { authorization: `DPoP ${token}`, proof }))).toBe("allowed");
  });
});

describe("challenges", () => {
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
  });

  it("name the error under the scheme of a rejected token, and offer DPoP to bearer tokens", async () => {
    const server = serverWith();
    const expired = await issuer.token({ rejectedAs: "expired" });
    const asBearer = challengeOf(server, await send(server, { authorization: `Bearer ${expired}` }));
    expect(asBearer).toMatch(/^Bearer error="invalid_token", error_description="[^"]+", DPoP algs="[^"]+"$/);
    const asDpop = challengeOf(server, await send(server, { authorization: `DPoP ${expired}` }));
    expect(asDpop).toMatch(/^DPoP error="invalid_token", error_description="[^"]+", algs="[^"]+"$/);
  });
});

describe("nonces", () => {
  const SECRET = "a secret that is shared by all processes";
  let now = 1_800_000_000_000;
  const clocked = createTestIssuer({ now: () => now });
  const create = (secret: string | readonly string[] = SECRET, replay = memoryStore()): ResourceServer =>
    createResourceServer({
      ...clocked.resourceServerOptions,
      scopeMappings: TABLE,
      senderConstraint: { dpop: { origins: [ORIGIN], nonce: { secret, lifetimeSeconds: 60 }, replay } },
    });

  const sendWith = async (server: ResourceServer, nonce?: string): Promise<Decision> => {
    const token = await clocked.token({ bound: "dpop", scopes: SCOPES });
    const proof = await clocked.proofFor({
      method: "GET",
      url: ORIGIN + TARGET,
      token,
      ...(nonce !== undefined && { nonce }),
    });
    return send(server, { authorization: `DPoP ${token}`, proof });
  };

  const nonceOf = (server: ResourceServer, decision: Decision): string =>
    decision.allowed ? "" : (server.refuse(decision).headers["DPoP-Nonce"] ?? "");

  it("requires them, sends one with each refusal, and accepts them in another process and for two lifetimes", async () => {
    const server = create();
    const first = await sendWith(server);
    expect(outcomeOf(first)).toBe("proof_rejected nonce");
    const nonce = nonceOf(server, first);
    expect(nonce).toMatch(/^[\w-]{43}$/);
    expect(nonceOf(server, await send(server, {}))).toBe(nonce);
    expect(outcomeOf(await sendWith(server, nonce))).toBe("allowed");
    expect(outcomeOf(await sendWith(create(), nonce))).toBe("allowed");
    expect(outcomeOf(await sendWith(create(`${SECRET}!`), nonce))).toBe("proof_rejected nonce");
    now += 60_000;
    expect(outcomeOf(await sendWith(server, nonce))).toBe("allowed");
    now += 60_000;
    expect(outcomeOf(await sendWith(server, nonce))).toBe("proof_rejected nonce");
    expect(outcomeOf(await sendWith(server, `${nonce} `))).toBe("proof_rejected nonce");
  });

  it("accepts them in processes that replace a secret step by step", async () => {
    const other = "another secret that replaces the first one";
    const [before, between, after] = [create([SECRET, other]), create([other, SECRET]), create(other)];
    const [old, next] = [nonceOf(before, await sendWith(before)), nonceOf(after, await sendWith(after))];
    expect(nonceOf(between, await sendWith(between))).toBe(next);
    for (const nonce of [old, next])
      for (const server of [before, between])
        expect(outcomeOf(await sendWith(server, nonce))).toBe("allowed");
    expect(outcomeOf(await sendWith(after, old))).toBe("proof_rejected nonce");
  });

  it("limit how long a proof is remembered", async () => {
    const store = memoryStore();
    const ends: number[] = [];
    const set: Store["set"] = (key, value, options) => {
      ends.push(now + (options?.ttlMs ?? Infinity));
      return store.set(key, value, options);
    };
    const server = create(SECRET, { ...store, set });
    const slotStart = Math.floor(now / 60_000) * 60_000;
    expect(outcomeOf(await sendWith(server, nonceOf(server, await sendWith(server))))).toBe("allowed");
    // The end of the next slot, and a minute for clocks that are behind.
    expect(ends).toEqual([slotStart + 180_000]);
  });

  it("let a client with a fast clock in, which is refused without them", async () => {
    const server = create();
    const nonce = nonceOf(server, await sendWith(server));
    const sendAhead = async (asked: ResourceServer, aheadSeconds: number): Promise<string> => {
      const token = await clocked.token({ bound: "dpop", scopes: SCOPES });
      const claims = { iat: now / 1000 + aheadSeconds };
      const proof = await clocked.proofFor({ method: "GET", url: ORIGIN + TARGET, token, nonce, claims });
      return outcomeOf(await send(asked, { authorization: `DPoP ${token}`, proof }));
    };
    const withoutNonce = createResourceServer({
      ...clocked.resourceServerOptions,
      scopeMappings: TABLE,
      senderConstraint: DPOP,
    });
    expect(await sendAhead(server, 300)).toBe("allowed");
    expect(await sendAhead(server, 301)).toBe("proof_rejected iat");
    expect(await sendAhead(withoutNonce, 5)).toBe("allowed");
    expect(await sendAhead(withoutNonce, 6)).toBe("proof_rejected iat");
    expect(await sendAhead(withoutNonce, -300)).toBe("allowed");
    expect(await sendAhead(withoutNonce, -301)).toBe("proof_rejected iat");
  });
});
