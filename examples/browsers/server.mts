import { randomUUID } from "node:crypto";
import { join } from "node:path";
import express, { type CookieOptions, type ErrorRequestHandler, type RequestHandler } from "express";
import { generateKeyPair, SignJWT } from "jose";
import { createResourceServer } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect } from "scopegate/express";
import { inMemoryRevocation } from "scopegate/revocation";

// ---- REPLACE this part: an identity provider in this file, so that you can try the example ----
const { privateKey, publicKey } = await generateKeyPair("ES256"); // new at every start

/** Returns a token, or `undefined` if the password is wrong. */
async function signIn(user: unknown, password: unknown): Promise<string | undefined> {
  if (user !== "user-1" || password !== "example") return undefined;
  return new SignJWT({ scopes: ["orders:read", "orders:write"] })
    .setProtectedHeader({ alg: "ES256" })
    .setSubject(user)
    .setAudience("orders")
    .setJti(randomUUID()) // distinguishes this token from the next one, so that it can be revoked alone
    .setIssuedAt()
    .setExpirationTime("15m")
    .sign(privateKey);
}
// ---- End of the part to replace ----

const ORIGIN = "http://localhost:3000"; // the origin of the page, as the browser shows it
const COOKIE = "__Host-access_token";
const ATTRIBUTES: CookieOptions = { httpOnly: true, secure: true, sameSite: "strict", path: "/" };

const server = createResourceServer({
  serviceId: "orders",
  algorithm: "ES256",
  verificationKeys: [publicKey],
  requiredClaims: ["exp"], // rejects tokens that never expire
  tokenSources: [{ cookie: COOKIE }], // instead of the header `Authorization`
  revocation: inMemoryRevocation(),
  scopeMappings: {
    "POST /api/login": "public",
    "POST /api/logout": "optional",
    "GET /api/orders": ["orders:read"],
    "POST /api/orders": ["orders:write"],
    "* /api{/*path}": ["api:closed"], // routes under /api without a rule of their own stay closed
    "GET /{*path}": "public", // the page. Every other GET route is public
  },
});

/** Refuses requests that change something, unless a page of this application sends them. */
const sameOrigin: RequestHandler = (req, res, next) => {
  const isSafe = ["GET", "HEAD", "OPTIONS"].includes(req.method);
  if (isSafe || req.get("Origin") === ORIGIN) next();
  else res.status(403).json({ title: "Forbidden", status: 403, detail: "Wrong Origin" });
};

const files = join(import.meta.dirname, "public");
const orders = ["first"];
const app = express();
app.use(express.static(files)); // the files of the page
app.use(sameOrigin);
app.use(protect(server));
app.use("/api", (_req, res, next) => {
  res.set("Cache-Control", "no-store"); // a shared cache must not send the response to somebody else
  next();
});
app.use(express.json());

app.post("/api/login", async (req, res) => {
  const { user, password } = (req.body ?? {}) as { user?: unknown; password?: unknown };
  const token = await signIn(user, password);
  if (token === undefined) {
    res.status(401).json({ title: "Wrong user or password", status: 401 });
    return;
  }
  res.cookie(COOKIE, token, { ...ATTRIBUTES, maxAge: 15 * 60_000 }); // the lifetime of the token
  res.status(204).end();
});
app.post("/api/logout", async (req, res) => {
  res.clearCookie(COOKIE, ATTRIBUTES); // also if the next line fails
  const principal = principalOf(req); // of the token that the guard has accepted
  if (principal?.tokenId !== undefined && principal.expiresAt !== undefined) {
    const until = new Date(principal.expiresAt * 1000); // the revocation is forgotten when the token expires
    await server.revoke({ tokenId: principal.tokenId }, { until });
  }
  res.status(204).end();
});
app.get("/api/orders", (req, res) => {
  res.json({ user: principalOf(req)?.userId, orders });
});
app.post("/api/orders", (req, res) => {
  orders.push(String(((req.body ?? {}) as { text?: unknown }).text));
  res.status(201).json(orders);
});
app.get("/{*path}", (_req, res) => {
  res.sendFile("index.html", { root: files });
});

/** Without it, Express would send a stack trace for a body that is not valid JSON. */
const onFault: ErrorRequestHandler = (error: { status?: number }, _req, res, next) => {
  const { status = 500 } = error;
  if (res.headersSent) next(error);
  else res.status(status).json({ title: status < 500 ? "Bad Request" : "Internal Server Error", status });
};
app.use(onFault);

audit(server, routesOf(app), { publicCatchAll: ["GET /{*path}"] }).orThrow();
app.listen(3000);
