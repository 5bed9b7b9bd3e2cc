import express from "express";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const app = express().use(protect(server));
app.get("/agents/:agent_id", (req, res) =>
  res.json({ agent: req.params.agent_id, caller: principalOf(req)?.userId }),
);
app.get("/health", (req, res) => res.json({ status: "ok" }));
app.listen(process.env.PORT ?? 3000);
