import cors from "cors";
import express, { type ErrorRequestHandler } from "express";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/express";
import { storesFor, server, textOf } from "./service.mts";

const app = express();
app.use(cors({ origin: "https://app.example", exposedHeaders: ["WWW-Authenticate", "DPoP-Nonce"] })); // 1. preflights
// Public static files go here: app.use(express.static("public"));
app.use(protect(server)); // 2. checks every request
app.use(express.json()); // 3. reads bodies only of allowed callers

app.get("/stores", (req, res) => {
  res.json(storesFor(principalOf(req)));
});
app.get("/stores/:store_id", (req, res) => {
  res.json({ store: req.params.store_id, caller: principalOf(req)?.userId });
});
app.get("/stores/:store_id/logs", requireScopes("logs:<store_id>:read"), (_req, res) => {
  res.json([]);
});
app.post("/orders", (req, res) => {
  res.status(201).json({ text: textOf(req.body), by: principalOf(req)?.userId });
});
app.get("/health", (_req, res) => {
  res.json({ status: "ok" });
});

// 4. Receives errors only: `protect` responds to refused requests itself.
const onError: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) next(error);
  else res.status(500).json({ title: "Internal Server Error", status: 500 });
};
app.use(onError);

audit(server, routesOf(app)).orThrow();
await server.ready();
app.listen(3000);
