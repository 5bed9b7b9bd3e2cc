/** Checks the caller of an upload before its body is read, also for clients that wait for the status 100. */
import { createServer, type IncomingMessage } from "node:http";
import express from "express";
import { createResourceServer } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "PUT /avatars/:user_id": { scopes: ["avatars:upload"], where: { user_id: { claim: "sub" } } },
    "POST /imports": ["imports:create"],
  },
  conditions: callerConditions(),
});

const app = express();
app.use(protect(server));
app.use((req, res, next) => {
  if (expectsContinue(req)) res.writeContinue(); // the caller is allowed: ask for the body
  next();
});
app.put("/avatars/:user_id", express.raw({ type: () => true, limit: 20 }), (req, res) => {
  const bytes = Buffer.isBuffer(req.body) ? req.body.length : 0; // at most 20, to try it
  res.json({ bytes });
});
app.post("/imports", async (req, res) => {
  let bytes = 0;
  for await (const chunk of req) bytes += (chunk as Buffer).length; // a stream: nothing is kept in memory
  res.json({ bytes });
});

const expectsContinue = ({ headers }: IncomingMessage): boolean =>
  headers.expect?.toLowerCase() === "100-continue";
createServer(app).on("checkContinue", app).listen(3000);
