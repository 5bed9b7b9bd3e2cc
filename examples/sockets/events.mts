/** Sends server-sent events until the token expires or is revoked. */
import express from "express";
import { createResourceServer } from "scopegate";
import { untilExpiry } from "scopegate/connections";
import { principalOf, protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /events": ["events:read"] },
});
const app = express();
app.use(protect(server));
app.get("/events", (req, res) => {
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  const principal = principalOf(req);
  if (!principal) return res.end();
  const stop = untilExpiry(principal, { server, onEnd: ({ event }) => res.end(event) });
  res.on("close", stop);
});
app.listen(3000);
