import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { finished, pipeline } from "node:stream";
import express from "express";
import { Redis } from "ioredis";
import { createResourceServer, parseConfiguration } from "scopegate/complete";
import { metadata, principalOf, protect } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { sharedRevocation } from "scopegate/revocation";
import { redisStore } from "scopegate/store";

const {
  JWT_PUBLIC_KEY,
  POLICY = "policy.json",
  PORT = 3000,
  REDIS_URL,
  SHUTDOWN_MS = 10_000,
  UPSTREAM,
} = process.env;
const upstream = new URL(UPSTREAM ?? "http://127.0.0.1:8000/mcp");
const redis = REDIS_URL ? new Redis(REDIS_URL, { socketTimeout: 5_000 }) : undefined;
const store = redis && redisStore(redis);
export const server = createResourceServer({
  ...parseConfiguration(readFileSync(new URL(POLICY, import.meta.url), "utf8")),
  ...(JWT_PUBLIC_KEY && { verificationKeys: [JWT_PUBLIC_KEY] }),
  ...(store && { revocation: sharedRevocation(store) }),
});

// No other header passes: neither the token, nor a header in which a client names another caller.
const REQUEST = /^(?:accept|last-event-id|mcp-(?:method|name|param-[\w-]+|protocol-version|session-id))$/;
const RESPONSE = /^(?:allow|cache-control|content-type|mcp-[\w-]+|retry-after|x-accel-buffering)$/;
const pick = (headers, names) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)));
const error = { code: -32603, message: "The MCP server does not answer." };

function forward(req, res) {
  const principal = principalOf(req);
  const headers = pick(req.headers, REQUEST);
  // Percent-encoded, because claims may contain characters that a header cannot.
  if (principal?.userId) headers["X-Principal-User"] = encodeURI(principal.userId);
  if (principal) headers["X-Principal-Scopes"] = principal.scopes.map(encodeURI).join(" ");
  if (req.body) headers["Content-Type"] = "application/json";
  const body = req.body && JSON.stringify(req.body); // the value that was checked
  const { request } = upstream.protocol === "https:" ? https : http;
  // A connection of its own: one that is kept open may be closed by the MCP server just when it is used again.
  const call = request(upstream, { method: req.method, headers, agent: false });
  call.on("response", (answer) => {
    res.writeHead(answer.statusCode, pick(answer.headers, RESPONSE)).flushHeaders(); // before the first event
    pipeline(answer, res, () => undefined); // cuts the response if the MCP server ends it early
  });
  call.on("error", ({ code }) => {
    if (res.headersSent || res.destroyed) return res.destroy();
    console.error(`The MCP server does not answer: ${code}`);
    res.status(502).json({ jsonrpc: "2.0", id: null, error });
  });
  finished(res, () => call.destroy()); // also when the client leaves
  call.end(body);
}

const app = express().disable("x-powered-by").set("env", "production"); // no stacks in responses
app.use(metadata(server)); // shows clients where to get a token
app.use("/mcp", protectMcp(server, store && { store })); // checks every operation
app.all("/mcp", forward);
app.use(protect(server)); // all other routes
app.get("/health", (req, res) => res.json({ status: "ok" }));

await server.ready();
const listener = app.listen(PORT);
process.once("SIGTERM", () => {
  listener.prependListener("request", (req, res) => res.setHeader("connection", "close")); // for busy clients
  listener.close(() => server.close().then(() => redis?.disconnect()));
  setTimeout(() => listener.closeAllConnections(), Number(SHUTDOWN_MS)).unref(); // streams without an end
});
