/** Accepts a token in the header or in a cookie, and needs the `Origin` of the page only for the cookie. */
import express, { type RequestHandler } from "express";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  tokenSources: [{ header: "authorization" }, { cookie: "__Host-access_token" }],
  scopeMappings: { "POST /api/login": "public", "POST /api/orders": ["orders:write"] },
});

const sameOrigin: RequestHandler = (req, res, next) => {
  const isSafe = ["GET", "HEAD", "OPTIONS"].includes(req.method);
  const hasHeader = /^Bearer /i.test(req.get("Authorization") ?? "");
  const isProgram = hasHeader && principalOf(req) !== undefined; // the guard has accepted the token of the header
  if (isSafe || isProgram || req.get("Origin") === "http://localhost:3000") next();
  else res.status(403).json({ title: "Forbidden", status: 403, detail: "Wrong Origin" });
};

const app = express();
app.use(protect(server));
app.use(sameOrigin); // after protect, because it needs the principal
app.post("/api/login", (_req, res) => {
  res.status(204).end(); // your login
});
app.post("/api/orders", (req, res) => {
  res.status(201).json({ by: principalOf(req)?.userId });
});
app.listen(3000);
