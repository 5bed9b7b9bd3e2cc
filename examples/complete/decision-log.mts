/** Writes one line of JSON for each decision, and the last lines before the process ends. */
import express from "express";
import { createResourceServer } from "scopegate";
import { decisionLog } from "scopegate/decision-log";
import { protect } from "scopegate/express";

const decisions = decisionLog(process.stdout, { include: ["path"] });
const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"] },
  onDecision: decisions,
});

const app = express().use(protect(server));
app.get("/stores/:store_id", (req, res) => {
  res.json({ store: req.params.store_id });
});
const listening = app.listen(3000);

process.once("SIGTERM", () => {
  listening.prependListener("request", (_req, res) => res.setHeader("Connection", "close"));
  listening.close(() => void decisions.close()); // writes the lines that are still waiting
  setTimeout(() => listening.closeAllConnections(), 10_000).unref();
});
