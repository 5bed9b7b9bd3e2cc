/** Separates tenants with one rule, lets users edit only their own orders, and requires a recent login for a refund. */
import express from "express";
import { createResourceServer } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { principalOf, protect } from "scopegate/express";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "* /orgs/:org{/*path}": {
      scopes: ["platform:admin"], // for paths without a rule of their own
      where: { org: { claim: "org_id" } }, // for every path below /orgs/:org
      unless: { scopes: ["orgs:any"], methods: ["GET"] },
      except: ["GET /orgs/:org/logo"],
    },
    "GET /orgs/:org/logo": "public",
    "GET /orgs/:org/orders": ["orders:read"],
    "PUT /orgs/:org/orders/:order": ["orders:write"],
    "POST /orgs/:org/refunds": { scopes: ["refunds:create"], maxAuthAgeSeconds: 300 },
    "GET /orders": ["orders:read"],
  },
  conditions: callerConditions(),
});

const orders = [
  { id: "1", org: "acme", owner: "user-1" },
  { id: "2", org: "acme", owner: "user-2" },
  { id: "3", org: "globex", owner: "user-3" },
];

const app = express();
app.use(protect(server));
app.get("/orgs/:org/logo", (req, res) => res.json({ logo: req.params.org }));
app.get("/orgs/:org/orders", (req, res) => res.json(orders.filter(({ org }) => org === req.params.org)));
app.put("/orgs/:org/orders/:order", (req, res) => {
  const caller = principalOf(req);
  const order = orders.find(({ id, org }) => id === req.params.order && org === req.params.org);
  const mayEdit = order?.owner === caller?.userId || caller?.has("orders:moderate");
  if (order && mayEdit) res.json(order);
  else res.status(404).json({ title: "Not Found", status: 404 });
});
app.post("/orgs/:org/refunds", (_req, res) => res.status(201).end());
app.get("/orders", (req, res) => {
  const orgs = principalOf(req)?.values({ claim: "org_id" }); // a set
  res.json(orders.filter(({ org }) => orgs?.has(org)));
});
app.listen(3000);
