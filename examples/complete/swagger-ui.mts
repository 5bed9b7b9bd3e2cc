/** Serves Swagger UI next to a protected API. The page is public, because middleware before `protect` needs no rule. */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import express from "express";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { toSecurity } from "scopegate/openapi";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: { "GET /stores": ["stores:read"] },
});
const document = toSecurity(
  {
    openapi: "3.1.0",
    info: { title: "Stores", version: "1" },
    paths: { "/stores": { get: { responses: { 200: { description: "All stores" } } } } },
  },
  server,
);
const assets = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

const app = express();
app.get("/docs/openapi.json", (_req, res) => {
  res.json(document);
});
app.get("/docs/swagger-initializer.js", (_req, res) => {
  res.type("js").send('SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui" });');
});
app.use("/docs", express.static(assets));
app.use(protect(server)); // the routes above are public
app.get("/stores", (_req, res) => {
  res.json(["berlin"]);
});
app.listen(3000);
