/** Accepts tokens that are bound to a key of the client, with DPoP. */
import express from "express";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { senderConstraint } from "scopegate/sender-constraint";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  senderConstraint: senderConstraint({
    dpop: { origins: ["http://localhost:3000"] }, // where clients reach this service
  }),
  scopeMappings: { "GET /orders": ["orders:read"] },
});

const app = express();
app.use(protect(server));
app.get("/orders", (req, res) => {
  res.json({ binding: principalOf(req)?.binding ?? "none" });
});
app.listen(3000);
