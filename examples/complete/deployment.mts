/** Checks its table and its keys before it listens, has probes, and ends within ten seconds. */
import express from "express";
import { createResourceServer } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { protect } from "scopegate/express";
import { remoteKeys } from "scopegate/keys";

const server = createResourceServer({
  serviceId: "orders",
  issuer: "https://login.example/",
  keys: remoteKeys({ discovery: true }),
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /live": "public",
    "GET /ready": "public",
  },
  onKeyEvent: ({ type, source, message }) => console.error(type, source, message ?? ""),
});

const app = express();
app.use(protect(server));
app.get("/stores/:store_id", (req, res) => {
  res.json({ store: req.params.store_id });
});
app.get("/live", (_req, res) => {
  res.json({ status: "ok" });
});
app.get("/ready", (_req, res) => {
  const { status } = server.health();
  res.status(status === "unavailable" ? 503 : 200).json({ status });
});

audit(server, routesOf(app)).orThrow();
await server.ready();
const listening = app.listen(3000);

process.once("SIGTERM", () => {
  listening.prependListener("request", (_req, res) => res.setHeader("Connection", "close"));
  listening.close(() => void server.close());
  setTimeout(() => listening.closeAllConnections(), 10_000).unref();
});
