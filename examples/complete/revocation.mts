/** Revokes the token of a user who logs out, in one process. */
import express from "express";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { inMemoryRevocation } from "scopegate/revocation";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp", "iat"],
  scopeMappings: { "GET /orders": [], "POST /logout": [] },
  revocation: inMemoryRevocation(),
});

const app = express().use(protect(server));
app.get("/orders", (_req, res) => {
  res.json([]);
});
app.post("/logout", async (req, res) => {
  const token = (req.get("Authorization") ?? "").slice("Bearer ".length).trim();
  await server.revoke({ token });
  res.status(204).end();
});
app.listen(3000);
