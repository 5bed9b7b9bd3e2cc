/** Client libraries that others wrote, over connections, with the same service on every host. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import * as dpop from "dpop";
import * as oauth from "oauth4webapi";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Principal } from "scopegate";
import type { DpopOptions } from "scopegate/sender-constraint";
import { type Application, applications, type Route } from "../../conformance/applications.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createResourceServer } from "../../support/server.ts";
import { createHandle, INSECURE } from "./oauth.ts";

const issuer = createIssuer();

const ROUTES: readonly Route[] = [
  { method: "GET", path: "/account", handle: ({ principal }) => describePrincipal(principal) },
  { method: "POST", path: "/payments", handle: () => ({ paid: true }) },
  { method: "GET", path: "/files/:name", handle: ({ params }) => params },
];
const MOUNTED: readonly Route[] = [{ method: "GET", path: "/items/:id", handle: ({ params }) => params }];

const describePrincipal = (principal: Principal | undefined) => ({
  user: principal?.userId,
  binding: principal?.binding,
});

/** The nonces of tests change when they say so. */
const SLOT_SECONDS = 300;

interface Service {
  readonly origin: string;
  /** Moves the clock of the server forward. */
  readonly pass: (seconds: number) => void;
}

/** Starts the service behind a proxy: its origin is known before the service exists. */
async function start(
  application: Application,
  dpopOptions: Partial<DpopOptions> = {},
  required = false,
): Promise<Service> {
  let target = 0;
  const proxy = await openProxy(() => target);
  const origin = `http://127.0.0.1:${proxy}`;
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
    senderConstraint: { dpop: { origins: [origin], windowSeconds: 3_600, ...dpopOptions }, required },
  });
  const running = await application.start({ server, routes: ROUTES, mounted: MOUNTED });
  target = running.port;
  onTestFinished(async () => {
    await running.close();
    await server.close();
  });
  return { origin, pass: (seconds) => void (nowSeconds += seconds) };
}

/** Forwards connections, and returns the port. */
async function openProxy(targetOf: () => number): Promise<number> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(targetOf(), "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await once(proxy, "close");
  });
  return (proxy.address() as AddressInfo).port;
}

/** A token that is bound to a key. */
const tokenFor = (jkt: string): Promise<string> =>
  issuer.token({ scopes: ["items:7:read", "payments:write"], cnf: { jkt } });

/** An application that uses `dpop` with `fetch`, and repeats a request once if the server wants a nonce. */
async function createDpopClient(algorithm: dpop.JWSAlgorithm = "ES256") {
  const keys = await dpop.generateKeyPair(algorithm);
  const token = await tokenFor(await dpop.calculateThumbprint(keys.publicKey));
  let nonce: string | undefined;
  const statuses: number[] = [];
  const attempt = async (method: string, url: URL): Promise<Response> => {
    const proof = await dpop.generateProof(keys, url.origin + url.pathname, method, nonce, token);
    const response = await fetch(url, { method, headers: { authorization: `DPoP ${token}`, dpop: proof } });
    nonce = response.headers.get("dpop-nonce") ?? nonce;
    statuses.push(response.status);
    return response;
  };
  const send = async (method: string, url: string): Promise<Response> => {
    const response = await attempt(method, new URL(url));
    const challenge = response.headers.get("www-authenticate") ?? "";
    return challenge.includes('error="use_dpop_nonce"') ? attempt(method, new URL(url)) : response;
  };
  return { keys, token, send, statuses };
}

/** An application that uses `protectedResourceRequest` of oauth4webapi, and repeats a request once. */
async function createOauthClient(aheadSeconds = 0) {
  const { handle, thumbprint } = await createHandle(aheadSeconds);
  const token = await tokenFor(thumbprint);
  const statuses: number[] = [];
  const options: oauth.ProtectedResourceRequestOptions = {
    ...INSECURE,
    DPoP: handle,
    [oauth.customFetch]: async (url, init) => {
      const response = await fetch(url, init as RequestInit);
      statuses.push(response.status);
      return response;
    },
  };
  const attempt = (method: string, url: string): Promise<Response> =>
    oauth.protectedResourceRequest(token, method, new URL(url), undefined, undefined, options);
  const send = (method: string, url: string): Promise<Response> =>
    attempt(method, url).catch((error: unknown) => {
      if (oauth.isDPoPNonceError(error)) return attempt(method, url);
      throw error;
    });
  return { token, send, attempt, statuses };
}

/** The challenges of a refused request, as oauth4webapi reads them. */
const challengesOf = (sent: Promise<Response>): Promise<readonly oauth.WWWAuthenticateChallenge[]> =>
  sent.then(
    () => [],
    (error: unknown) => (error as oauth.WWWAuthenticateChallengeError).cause,
  );

const CLIENTS = [
  { client: "dpop", create: () => createDpopClient() },
  { client: "oauth4webapi", create: () => createOauthClient() },
] as const;

describe.each(applications)("$name", (application) => {
  it.each(CLIENTS)("accepts the proofs of $client", async ({ create }) => {
    const { origin } = await start(application);
    const { send, statuses } = await create();
    const answers = [
      await send("GET", `${origin}/account`),
      await send("GET", `${origin}/account?page=2`),
      await send("GET", `${origin}/files/caf%C3%A9%20~`),
      await send("GET", `${origin}/mounted/items/7`),
      await send("POST", `${origin}/payments`),
    ];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { user: "user-1", binding: "dpop" },
      { user: "user-1", binding: "dpop" },
      { name: "café ~" },
      { id: "7" },
      { paid: true },
    ]);
    expect(statuses).toEqual([200, 200, 200, 200, application.name.startsWith("NestJS") ? 201 : 200]);
    expect(answers.map(({ headers }) => headers.get("dpop-nonce"))).toEqual([null, null, null, null, null]);
  });

  it.each(CLIENTS)("hands nonces to $client, and a new one in time", async ({ create }) => {
    const { origin, pass } = await start(application, { nonce: { lifetimeSeconds: SLOT_SECONDS } });
    const { send, statuses } = await create();
    const url = `${origin}/account`;
    const first = await send("GET", url);
    expect(first.headers.get("dpop-nonce")).toBeNull();
    expect(statuses.splice(0)).toEqual([401, 200]);
    // The nonce of the previous slot is accepted, and the response has the next one: no request is repeated.
    for (let slot = 0; slot < 3; slot += 1) {
      pass(SLOT_SECONDS);
      const late = await send("GET", url);
      expect(late.headers.get("dpop-nonce")).toMatch(/^[\w-]{20,}$/);
      expect((await send("GET", url)).headers.get("dpop-nonce")).toBeNull();
    }
    expect(statuses.splice(0)).toEqual([200, 200, 200, 200, 200, 200]);
    // A client that was away has a nonce that is too old.
    pass(2 * SLOT_SECONDS);
    await send("GET", url);
    expect(statuses).toEqual([401, 200]);
  });

  it("refuses a proof for another request, and one that was used", async () => {
    const { origin } = await start(application);
    const { keys, token } = await createDpopClient();
    const send = (path: string, proof?: string, scheme = "DPoP") =>
      fetch(origin + path, {
        headers: { authorization: `${scheme} ${token}`, ...(proof !== undefined && { dpop: proof }) },
      });
    const prove = (path: string, method = "GET", accessToken = token) =>
      dpop.generateProof(keys, origin + path, method, undefined, accessToken);
    const proof = await prove("/account");
    const answers = [
      await send("/account", proof),
      await send("/account", proof),
      await send("/account", await prove("/files/x")),
      await send("/account", await prove("/account", "POST")),
      await send("/account", await prove("/account", "GET", `${token}x`)),
      await send("/account"),
      await send("/account", undefined, "Bearer"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 401, 401, 401, 401]);
    const errors = answers.slice(1).map(({ headers }) => headers.get("www-authenticate"));
    for (const error of errors) expect(error).toMatch(/^DPoP .*error="invalid_dpop_proof"/);
  });
});

describe("the challenges that oauth4webapi reads", () => {
  const [application] = applications as readonly [Application, ...Application[]];
  let client: Awaited<ReturnType<typeof createOauthClient>>;
  beforeAll(async () => {
    client = await createOauthClient();
  });
  const algs = "ES256 EdDSA Ed25519 PS256 RS256";

  it("offers only the scheme DPoP for a nonce, because versions up to 3.8.7 repeat a request only then", async () => {
    const { origin } = await start(application, { nonce: true });
    const challenges = await challengesOf(client.attempt("GET", `${origin}/account`));
    expect(challenges).toMatchObject([{ scheme: "dpop", parameters: { error: "use_dpop_nonce", algs } }]);
    expect(challenges).toHaveLength(1);
  });

  it("offers both schemes for a request without a token", async () => {
    const { origin } = await start(application);
    const options: oauth.ProtectedResourceRequestOptions = {
      ...INSECURE,
      // Without the token, which the function requires.
      [oauth.customFetch]: (target) => fetch(target),
    };
    const url = new URL(`${origin}/account`);
    const sent = oauth.protectedResourceRequest("x", "GET", url, undefined, undefined, options);
    expect(await challengesOf(sent)).toEqual([
      { scheme: "bearer", parameters: {} },
      { scheme: "dpop", parameters: { algs } },
    ]);
  });

  it("name the missing scope under DPoP", async () => {
    const { origin } = await start(application);
    const challenges = await challengesOf(client.attempt("GET", `${origin}/mounted/items/8`));
    expect(challenges).toMatchObject([
      { scheme: "dpop", parameters: { error: "insufficient_scope", scope: "items:8:read" } },
    ]);
  });

  it("ask for a token that is bound to a key", async () => {
    const { origin } = await start(application);
    const token = await issuer.token({ scopes: ["payments:write"] });
    const url = new URL(`${origin}/payments`);
    const sent = oauth.protectedResourceRequest(token, "POST", url, undefined, undefined, INSECURE);
    expect(await challengesOf(sent)).toMatchObject([
      { scheme: "dpop", parameters: { error: "invalid_token", algs } },
    ]);
  });

  it.each<dpop.JWSAlgorithm>(["ES256", "Ed25519", "PS256", "RS256"])(
    "do not occur for the algorithm %s of dpop",
    async (algorithm) => {
      const { origin } = await start(application, { nonce: true }, true);
      const { send } = await createDpopClient(algorithm);
      expect((await send("GET", `${origin}/account`)).status).toBe(200);
    },
  );
});

describe("a client whose clock is ahead", () => {
  const [application] = applications as readonly [Application, ...Application[]];

  it.each([
    { nonce: true, statuses: [401, 200] },
    { nonce: false, statuses: [401] },
  ])("accepts it only with nonces: $nonce", async ({ nonce, statuses: expected }) => {
    const { origin } = await start(application, { nonce });
    const { send, statuses } = await createOauthClient(1_000);
    await send("GET", `${origin}/account`).catch((error: unknown) => {
      expect(error).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    });
    expect(statuses).toEqual(expected);
  });
});
