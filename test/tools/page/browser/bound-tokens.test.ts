/** The client examples/browsers/dpop-client.js, in a page on another origin than its API. */
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import cors from "cors";
import { build } from "esbuild";
import express from "express";
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader } from "jose";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { principalOf, protect } from "scopegate/express";
import { ROOT } from "../../../documentation/markdown.ts";
import { listen } from "../../../support/http.ts";
import { createIssuer } from "../../../support/issuer.ts";
import { createResourceServer } from "../../../support/server.ts";
import { hasChromium, launch } from "./chromium.ts";

/** Bundles the module into a script that defines `client`. */
async function bundleClient(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "examples/browsers/dpop-client.js")],
    bundle: true,
    format: "iife",
    globalName: "client",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

const issuer = createIssuer();
const NONCE_OF_ISSUER = "a-nonce-of-the-token-endpoint";

/** Binds a token to the key of the proof, as a token endpoint does that requires a nonce. */
async function answerTokenRequest(request: IncomingMessage): Promise<object> {
  const proof = String(request.headers["dpop"]);
  if (decodeJwt(proof)["nonce"] !== NONCE_OF_ISSUER) return { error: "use_dpop_nonce" };
  const { jwk } = decodeProtectedHeader(proof);
  const jkt = await calculateJwkThumbprint(jwk ?? {});
  const exp = Math.floor(Date.now() / 1000) + 60;
  return { access_token: await issuer.token({ scopes: ["accounts:read"], exp, cnf: { jkt } }) };
}

const CORS = { allowedHeaders: ["Authorization", "DPoP", "Content-Type"] };
const EXPOSED = ["WWW-Authenticate", "DPoP-Nonce"];

/** Creates the API, and counts the requests that reach it. */
function createApi(origin: string, exposedHeaders: readonly string[]) {
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    senderConstraint: { dpop: { origins: [origin], nonce: true }, required: true },
    scopeMappings: { "GET /accounts": ["accounts:read"], "POST /token": "public" },
  });
  const statuses: number[] = [];
  const app = express();
  app.use(cors({ ...CORS, exposedHeaders: [...exposedHeaders] }));
  app.use((_req, res, next) => {
    res.on("finish", () => statuses.push(res.statusCode));
    next();
  });
  app.use(protect(server));
  app.post("/token", async (req, res) => {
    const answer = await answerTokenRequest(req);
    res.set("DPoP-Nonce", NONCE_OF_ISSUER);
    res.status("error" in answer ? 400 : 200).json(answer);
  });
  app.get("/accounts", (req, res) => res.json({ binding: principalOf(req)?.binding }));
  return { app, statuses };
}

describe.skipIf(!hasChromium)("the client of the guide of bound tokens", () => {
  const closings: (() => Promise<void>)[] = [];
  let browser: Browser;
  let page: Page;
  let site: string;

  const serve = async (handlerFor: (origin: string) => express.Express): Promise<string> => {
    const http = createServer();
    const { port, close } = await listen(http);
    closings.push(close);
    const origin = `http://localhost:${port}`;
    http.on("request", handlerFor(origin));
    return origin;
  };

  const serveApi = async (exposedHeaders: readonly string[] = EXPOSED) => {
    let statuses: readonly number[] = [];
    const origin = await serve((own) => {
      const api = createApi(own, exposedHeaders);
      statuses = api.statuses;
      return api.app;
    });
    return { origin, statuses };
  };

  beforeAll(async () => {
    const script = await bundleClient();
    site = await serve(() => {
      const app = express();
      app.get("/client.js", (_req, res) => res.type("js").send(script));
      app.get("/", (_req, res) => res.type("html").send('<!doctype html><script src="/client.js"></script>'));
      return app;
    });
    browser = await launch();
  });
  beforeEach(async () => {
    const context = await browser.newContext();
    page = await context.newPage();
    await page.goto(site);
  });
  afterAll(async () => {
    await browser.close();
    for (const close of closings) await close();
  });

  const requestToken = async (origin: string): Promise<string> => {
    const code = `client.requestToken("${origin}/token", { grant_type: "client_credentials" })`;
    const { access_token } = await page.evaluate<{ readonly access_token: string }>(code);
    return access_token;
  };

  /** Calls the API as the page does, and returns what the page sees. */
  const call = (url: string, token: string): Promise<readonly [number, unknown]> =>
    page.evaluate<readonly [number, unknown]>(
      `client.fetchWithProof("${url}", {}, "${token}").then(async (response) => [response.status, await response.json()])`,
    );

  it("gets a token for its key, and sends each request with a new proof", async () => {
    const { origin, statuses } = await serveApi();
    const token = await requestToken(origin);
    expect(await call(`${origin}/accounts?page=1`, token)).toEqual([200, { binding: "dpop" }]);
    expect(await call(`${origin}/accounts?page=2`, token)).toEqual([200, { binding: "dpop" }]);
    // Each server asks for its nonce once. The nonce of the token endpoint belongs to the same origin here.
    expect(statuses).toEqual([400, 200, 401, 200, 200]);
  });

  it("keeps its key when the page is loaded again", async () => {
    const { origin } = await serveApi();
    const token = await requestToken(origin);
    await page.reload();
    expect(await call(`${origin}/accounts`, token)).toEqual([200, { binding: "dpop" }]);
  });

  it("keeps its private key from every script of the page", async () => {
    const code = `client.loadKeyPair().then(({ privateKey }) => crypto.subtle.exportKey("jwk", privateKey))`;
    await expect(page.evaluate(code)).rejects.toThrow("not extractable");
  });

  it("shares one key between tabs that start at the same time", async () => {
    const otherPage = await page.context().newPage();
    await otherPage.goto(site);
    const code = `client.loadKeyPair().then(({ publicKey }) => crypto.subtle.exportKey("jwk", publicKey))`;
    const [key, otherKey] = await Promise.all([page.evaluate(code), otherPage.evaluate(code)]);
    expect(otherKey).toEqual(key);
  });

  it("uses another key after a sign-out", async () => {
    const { origin } = await serveApi();
    const token = await requestToken(origin);
    await page.evaluate(`new Promise((resolve, reject) => {
      Object.assign(indexedDB.deleteDatabase("dpop"), { onsuccess: resolve, onerror: reject, onblocked: reject });
    }).then(() => undefined)`);
    await page.reload();
    const [status] = await call(`${origin}/accounts`, token);
    expect(status).toBe(401);
  });

  it("refuses it if CORS does not expose the nonce", async () => {
    const { origin } = await serveApi();
    const token = await requestToken(origin);
    const other = await serveApi(["WWW-Authenticate"]);
    expect(await call(`${other.origin}/accounts`, token)).toMatchObject([401, { status: 401 }]);
  });
});
