/** Client libraries that others wrote, over connections, with the same service on every host. */
import * as dpop from "dpop";
import * as oauth from "oauth4webapi";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DpopOptions } from "scopegate/sender-constraint";
import { type Application, applications, type Route } from "../../conformance/applications.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createResourceServer } from "../../support/server.ts";
import { createHandle } from "./oauth.ts";

const issuer = createIssuer();

/** The public origin of the service, which the clients use. */
const ORIGIN = "https://api.example";

const ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/account",
    handle: ({ principal }) => ({ user: principal?.userId, binding: principal?.binding }),
  },
  { method: "POST", path: "/payments", handle: () => ({ paid: true }) },
  { method: "GET", path: "/files/:name", handle: ({ params }) => params },
];
const MOUNTED: readonly Route[] = [{ method: "GET", path: "/items/:id", handle: ({ params }) => params }];

/** The nonces of tests change when they say so. */
const SLOT_SECONDS = 300;

interface Service {
  /** Sends a request for a URL of `ORIGIN` to the service. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The status of each response. */
  readonly statuses: number[];
  /** Moves the clock of the server forward. */
  readonly pass: (seconds: number) => void;
}

async function start(
  application: Application,
  dpopOptions: Partial<DpopOptions> = {},
  required = false,
): Promise<Service> {
  // Clients use the real time. In the middle of a slot, no nonce changes by itself.
  const slots = Math.ceil(Date.now() / 1000 / SLOT_SECONDS);
  let nowSeconds = (slots + 0.5) * SLOT_SECONDS;
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    now: () => nowSeconds * 1000,
    scopeMappings: {
      "GET /account": [],
      "POST /payments": { scopes: ["payments:write"], senderConstrained: true },
      "GET /files/:name": [],
      "GET /mounted/items/:id": ["items:<id>:read"],
    },
    senderConstraint: { dpop: { origins: [ORIGIN], windowSeconds: 3_600, ...dpopOptions }, required },
  });
  const { port, close } = await application.start({ server, routes: ROUTES, mounted: MOUNTED });
  onTestFinished(async () => {
    await close();
    await server.close();
  });
  const statuses: number[] = [];
  return {
    statuses,
    pass: (seconds) => void (nowSeconds += seconds),
    async fetch(url, init) {
      const response = await fetch(url.replace(ORIGIN, `http://127.0.0.1:${port}`), init);
      statuses.push(response.status);
      return response;
    },
  };
}

/** A token that is bound to a key. */
const tokenFor = (jkt: string): Promise<string> =>
  issuer.token({ scopes: ["items:7:read", "payments:write"], cnf: { jkt } });

type Send = (method: string, path: string) => Promise<Response>;

/** An application that uses `dpop` with `fetch`, and repeats a request once if the server wants a nonce. */
async function createDpopClient(service: Service, algorithm: dpop.JWSAlgorithm = "ES256"): Promise<Send> {
  const keys = await dpop.generateKeyPair(algorithm);
  const token = await tokenFor(await dpop.calculateThumbprint(keys.publicKey));
  let nonce: string | undefined;
  const attempt: Send = async (method, path) => {
    const { href, origin, pathname } = new URL(path, ORIGIN);
    const proof = await dpop.generateProof(keys, origin + pathname, method, nonce, token);
    const headers = { authorization: `DPoP ${token}`, dpop: proof };
    const response = await service.fetch(href, { method, headers });
    nonce = response.headers.get("dpop-nonce") ?? nonce;
    return response;
  };
  return async (method, path) => {
    const response = await attempt(method, path);
    const challenge = response.headers.get("www-authenticate") ?? "";
    return challenge.includes('error="use_dpop_nonce"') ? attempt(method, path) : response;
  };
}

/** Sends requests with `protectedResourceRequest` of oauth4webapi. */
const createOauthSender =
  (service: Service, token: string, handle?: oauth.DPoPHandle): Send =>
  (method, path) =>
    oauth.protectedResourceRequest(token, method, new URL(path, ORIGIN), undefined, undefined, {
      ...(handle && { DPoP: handle }),
      [oauth.customFetch]: (url, init) => service.fetch(url, init as RequestInit),
    });

/** An application that uses oauth4webapi, and repeats a request once if the server wants a nonce. */
async function createOauthClient(service: Service): Promise<Send> {
  const { handle, thumbprint } = await createHandle();
  const attempt = createOauthSender(service, await tokenFor(thumbprint), handle);
  return (method, path) =>
    attempt(method, path).catch((error: unknown) => {
      if (oauth.isDPoPNonceError(error)) return attempt(method, path);
      throw error;
    });
}

const CLIENTS: readonly { readonly client: string; readonly create: (service: Service) => Promise<Send> }[] =
  [
    { client: "dpop", create: createDpopClient },
    { client: "oauth4webapi", create: createOauthClient },
  ];

describe.each(applications)("$name", (application) => {
  it.each(CLIENTS)("accepts the proofs of $client", async ({ create }) => {
    const service = await start(application);
    const send = await create(service);
    const answers = [
      await send("GET", "/account"),
      await send("GET", "/account?page=2"),
      await send("GET", "/files/caf%C3%A9%20~"),
      await send("GET", "/mounted/items/7"),
      await send("POST", "/payments"),
    ];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { user: "user-1", binding: "dpop" },
      { user: "user-1", binding: "dpop" },
      { name: "café ~" },
      { id: "7" },
      { paid: true },
    ]);
    expect(service.statuses).toHaveLength(answers.length);
    expect(answers.map(({ headers }) => headers.get("dpop-nonce"))).toEqual(answers.map(() => null));
  });

  it.each(CLIENTS)("hands nonces to $client, and a new one in time", async ({ create }) => {
    const service = await start(application, { nonce: { lifetimeSeconds: SLOT_SECONDS } });
    const { statuses, pass } = service;
    const send = await create(service);
    const first = await send("GET", "/account");
    expect(first.headers.get("dpop-nonce")).toBeNull();
    expect(statuses.splice(0)).toEqual([401, 200]);
    // The nonce of the previous slot is accepted, and the response has the next one: no request is repeated.
    for (let slot = 0; slot < 3; slot += 1) {
      pass(SLOT_SECONDS);
      const late = await send("GET", "/account");
      expect(late.headers.get("dpop-nonce")).toMatch(/^[\w-]{20,}$/);
      expect((await send("GET", "/account")).headers.get("dpop-nonce")).toBeNull();
    }
    expect(statuses.splice(0)).toEqual([200, 200, 200, 200, 200, 200]);
    // A client that was away has a nonce that is too old.
    pass(2 * SLOT_SECONDS);
    await send("GET", "/account");
    expect(statuses).toEqual([401, 200]);
  });
});

describe("the challenges that oauth4webapi reads", () => {
  const [application] = applications as readonly [Application, ...Application[]];
  const algs = "ES256 EdDSA Ed25519 PS256 RS256";

  /** The challenges of a request with a token that is bound to a key, or to none. */
  async function challengesOf(service: Service, method: string, path: string, isBound = true) {
    const { handle, thumbprint } = await createHandle();
    const token = isBound ? await tokenFor(thumbprint) : await issuer.token({ scopes: ["payments:write"] });
    const send = createOauthSender(service, token, isBound ? handle : undefined);
    const error: unknown = await send(method, path).catch((reason: unknown) => reason);
    return (error as oauth.WWWAuthenticateChallengeError).cause;
  }

  it("offers only the scheme DPoP for a nonce, because versions up to 3.8.7 repeat a request only then", async () => {
    const challenges = await challengesOf(await start(application, { nonce: true }), "GET", "/account");
    expect(challenges).toMatchObject([{ scheme: "dpop", parameters: { error: "use_dpop_nonce", algs } }]);
    expect(challenges).toHaveLength(1);
  });

  it("offers both schemes for a request without a token", async () => {
    const service = await start(application);
    const withoutToken = { ...service, fetch: (url: string) => service.fetch(url, {}) };
    expect(await challengesOf(withoutToken, "GET", "/account")).toEqual([
      { scheme: "bearer", parameters: {} },
      { scheme: "dpop", parameters: { algs } },
    ]);
  });

  it("names the missing scope under DPoP", async () => {
    expect(await challengesOf(await start(application), "GET", "/mounted/items/8")).toMatchObject([
      { scheme: "dpop", parameters: { error: "insufficient_scope", scope: "items:8:read" } },
    ]);
  });

  it("asks for a token that is bound to a key", async () => {
    expect(await challengesOf(await start(application), "POST", "/payments", false)).toMatchObject([
      { scheme: "dpop", parameters: { error: "invalid_token", algs } },
    ]);
  });

  it.each<dpop.JWSAlgorithm>(["ES256", "Ed25519", "PS256", "RS256"])(
    "does not occur for the algorithm %s of dpop",
    async (algorithm) => {
      const send = await createDpopClient(await start(application, { nonce: true }, true), algorithm);
      expect((await send("GET", "/account")).status).toBe(200);
    },
  );
});
