/** Ends TLS in Node.js, and accepts tokens only with the client certificate that they are bound to. */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import express from "express";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { senderConstraint } from "scopegate/sender-constraint";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  senderConstraint: senderConstraint({ mtls: { from: "socket" }, required: true }),
  scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"] },
});

const app = express().use(protect(server));
app.get("/stores/:store_id", (req, res) => {
  res.json({ store: req.params.store_id, binding: principalOf(req)?.binding });
});

const tls = {
  key: readFileSync("/etc/api.example/server.key"),
  cert: readFileSync("/etc/api.example/server.pem"),
  ca: readFileSync("/etc/api.example/clients.pem"), // the authorities of clients
  requestCert: true,
  rejectUnauthorized: true,
};
createServer(tls, app).listen(443);
