/** A revocation endpoint (RFC 7009), where callers revoke their own tokens. */
import express from "express";
import { createResourceServer, TokenRejectedError } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { inMemoryRevocation } from "scopegate/revocation";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp", "sub"],
  scopeMappings: { "POST /revoke": [] },
  revocation: inMemoryRevocation(),
});
const app = express().use(protect(server));
app.post("/revoke", express.urlencoded({ extended: false, limit: "64kb" }), async (req, res) => {
  const { token } = Object(req.body) as { token?: unknown };
  res.set("Cache-Control", "no-store");
  if (typeof token !== "string") {
    res.status(400).json({ error: "invalid_request" }); // no token, or more than one
    return;
  }
  try {
    const caller = principalOf(req);
    const owner = await server.authenticate(token);
    if (caller?.userId !== owner.userId || caller?.issuer !== owner.issuer) {
      res.status(400).json({ error: "unauthorized_client" });
      return;
    }
    await server.revoke({ token });
  } catch (error) {
    // A token that is not accepted needs no revocation (RFC 7009 section 2.2), unless the clock here is behind.
    if (!(error instanceof TokenRejectedError) || error.rejection === "not_yet_valid") {
      res.status(503).set("Retry-After", "5").json({ error: "temporarily_unavailable" });
      return;
    }
  }
  res.end();
});
app.listen(3000);
