/** Proofs together with the other options of a server: no rule and no kind of token makes up for a proof. */
import { describe, expect, it } from "vitest";
import { apiKeys, createApiKey } from "scopegate/api-keys";
import { introspection } from "scopegate/introspection";
import { json } from "../../support/behaviours.ts";
import { active, CLIENT, openEndpoint } from "../../stores/introspection/support.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import {
  ALICE,
  ALICE_TOKEN,
  BOB,
  proofOf,
  sent,
  sentBy,
  type Sent,
  thumbprintOf,
  tokenWith,
} from "./forge.ts";
import { checkDirectly, createService, outcomeOf, type Service } from "./service.ts";

const outcomeFor = async ({ server }: Service, request: Sent): Promise<string> =>
  outcomeOf((await checkDirectly(server, request)).decision);

const BEARER_TOKEN = tokenWith();
const bearer = (token: string): Sent => ({ fields: [["Authorization", `Bearer ${token}`]] });

/** Requests that no rule may allow. */
const REFUSED: readonly (readonly [outcome: string, name: string, request: () => Sent])[] = [
  ["htm", "a proof for another method", () => sentBy({ claims: { htm: "POST" } })],
  ["signature", "a proof with another signature", () => sentBy({ signedWith: BOB.privateKey })],
  [
    "binding",
    "the proof of another key",
    () => sent(ALICE_TOKEN, proofOf({ caller: BOB, token: ALICE_TOKEN })),
  ],
  ["proof_missing", "a bound token as Bearer", () => bearer(ALICE_TOKEN)],
  ["proof_missing", "a bound token without a proof", () => sent(ALICE_TOKEN)],
  [
    "scheme",
    "an unbound token with a proof",
    () => ({ fields: [...bearer(BEARER_TOKEN).fields, ["DPoP", proofOf()]] }),
  ],
];

const settings: Readonly<Record<string, Partial<ResourceServerOptions>>> = {
  "an optional token": { scopeMappings: { "GET /agents/:id": "optional" } },
  "any valid token": { scopeMappings: { "GET /agents/:id": [] } },
  "a shadow that requires no token": { shadow: { scopeMappings: { "* /{*path}": "public" } } },
  "authenticated routes without a rule": {
    scopeMappings: { "GET /other": [] },
    unmappedRoutes: "authenticated",
  },
  "the first of several credentials": {
    multipleCredentials: "first",
    tokenSources: [{ cookie: "token" }, { header: "authorization" }],
  },
  "no cache of tokens": { tokenCache: false },
  "a slow check of revocations": { isRevoked: () => new Promise((resolve) => setImmediate(resolve, false)) },
};

describe.each(Object.entries(settings))("with %s, a server", (_, options) => {
  it.each(REFUSED)("refuses, as %s: %s", async (outcome, _name, request) => {
    const service = createService({}, options);
    expect(await outcomeFor(service, request())).toBe(outcome);
    // Also when the token and its key are known.
    expect(await outcomeFor(service, sentBy())).toBe("allowed");
    expect(await outcomeFor(service, request())).toBe(outcome);
  });
});

describe("a server with several sources of tokens, of which the first counts", () => {
  const service = createService({}, settings["the first of several credentials"]);

  it("does not use the proof for the token of another source", async () => {
    const request = sentBy();
    const withCookie = (token: string): Sent => ({
      fields: [...request.fields, ["Cookie", `token=${token}`]],
    });
    expect(await outcomeFor(service, withCookie(BEARER_TOKEN))).toBe("scheme");
    expect(await outcomeFor(service, withCookie(ALICE_TOKEN))).toBe("proof_missing");
    expect(await outcomeFor(service, request)).toBe("allowed");
  });
});

describe("a token that is looked up", () => {
  const TOKEN = "opaque-token-of-alice";
  const jkt = thumbprintOf(ALICE.jwk);

  const startWith = async (answer: Readonly<Record<string, unknown>>): Promise<Service> => {
    const endpoint = await openEndpoint(json(active(answer)));
    return createService({}, { opaqueTokens: [introspection({ url: endpoint.url, client: CLIENT })] });
  };

  it("needs a proof of the key in the response", async () => {
    const service = await startWith({ token_type: "DPoP", cnf: { jkt } });
    const request = (): Sent => sent(TOKEN, proofOf({ token: TOKEN }));
    expect(await outcomeFor(service, request())).toBe("allowed");
    expect(await outcomeFor(service, bearer(TOKEN))).toBe("proof_missing");
    expect(await outcomeFor(service, sent(TOKEN))).toBe("proof_missing");
    expect(await outcomeFor(service, sent(TOKEN, proofOf()))).toBe("ath");
    expect(await outcomeFor(service, sent(TOKEN, proofOf({ caller: BOB, token: TOKEN })))).toBe("binding");
    const again = request();
    expect(await outcomeFor(service, again)).toBe("allowed");
    expect(await outcomeFor(service, again)).toBe("replayed");
  });

  it.each([
    { token_type: "DPoP" },
    { token_type: "DPoP", cnf: {} },
    { token_type: "DPoP", cnf: null },
    { cnf: { jkt: "x" } },
    { cnf: { jwk: ALICE.jwk } },
    { cnf: [] },
  ])("rejects it with the response %j", async (answer) => {
    const service = await startWith(answer);
    expect(await outcomeFor(service, sent(TOKEN, proofOf({ token: TOKEN })))).toBe("token_rejected");
    expect(await outcomeFor(service, bearer(TOKEN))).toBe("token_rejected");
  });
});

describe("an API key", () => {
  const { key, record } = createApiKey({
    prefix: "acme_",
    name: "ci",
    scopes: ["agents:read"],
    ownerId: "u1",
  });
  const find = (id: string) => Promise.resolve(id === record.id ? record : undefined);
  const options = {
    now: Date.now,
    opaqueTokens: [apiKeys({ prefix: "acme_", find })],
  };

  it("treats it as a bearer token, which a proof does not bind", async () => {
    const service = createService({}, options);
    expect(await outcomeFor(service, bearer(key))).toBe("allowed");
    expect(await outcomeFor(service, sent(key, proofOf({ token: key })))).toBe("binding");
    expect(await outcomeFor(service, sent(key))).toBe("proof_missing");
  });

  it("refuses it where a key of the client is required", async () => {
    const service = createService({}, options, { required: true });
    expect(await outcomeFor(service, bearer(key))).toBe("proof_missing");
  });
});

describe("a server with mutual TLS only", () => {
  const service = createService("none", { senderConstraint: { mtls: { from: "socket" } } });

  it("refuses a token that is bound to a key of DPoP", async () => {
    expect(await outcomeFor(service, bearer(ALICE_TOKEN))).toBe("token_rejected");
    expect(await outcomeFor(service, sentBy())).toBe("credential_missing");
  });
});

describe("a server with DPoP and mutual TLS", () => {
  const service = createService({}, {}, { mtls: { from: "socket" } });
  const cnf = { jkt: thumbprintOf(ALICE.jwk), "x5t#S256": thumbprintOf(BOB.jwk) };

  it("refuses a token that is bound to both with only one of them", async () => {
    const token = tokenWith({ cnf });
    expect(await outcomeFor(service, sent(token, proofOf({ token })))).toBe("proof_missing");
    expect(await outcomeFor(service, bearer(token))).toBe("proof_missing");
    expect(await outcomeFor(service, sentBy())).toBe("allowed");
  });

  it.each([
    { jkt: cnf.jkt, "x5t#S256": 5 },
    { jkt: 5, "x5t#S256": cnf["x5t#S256"] },
    { jkt: "", "x5t#S256": "" },
  ])("refuses a token with the cnf %j", async (wrong) => {
    const token = tokenWith({ cnf: wrong });
    expect(await outcomeFor(service, sent(token, proofOf({ token })))).toBe("token_rejected");
  });
});

describe("authenticate", () => {
  it("rejects a bound token, and accepts an unbound one", async () => {
    const { server } = createService();
    await expect(server.authenticate(ALICE_TOKEN)).rejects.toMatchObject({ rejection: "claims" });
    await expect(server.authenticate(BEARER_TOKEN)).resolves.toMatchObject({ userId: "user-1" });
  });
});
