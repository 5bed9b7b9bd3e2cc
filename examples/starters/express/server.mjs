import express from "express";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const app = express().use(protect(server));
app.get("/stores/:store_id", (req, res) =>
  res.json({ store: req.params.store_id, caller: principalOf(req)?.userId }),
);
app.get("/health", (req, res) => res.json({ status: "ok" }));
app.listen(process.env.PORT ?? 3000);
