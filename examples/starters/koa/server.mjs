import Router from "@koa/router";
import Koa from "koa";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/koa";

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /health": "public",
  },
});

const router = new Router();
router.get("/stores/:store_id", (ctx) => {
  ctx.body = { store: ctx.params.store_id, caller: principalOf(ctx)?.userId };
});
router.get("/health", (ctx) => {
  ctx.body = { status: "ok" };
});
new Koa()
  .use(protect(server))
  .use(router.routes())
  .listen(process.env.PORT ?? 3000);
