import Router from "@koa/router";
import Koa from "koa";
import { createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/koa";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
    "GET /health": "public",
  },
});

const router = new Router();
router.get("/agents/:agent_id", (ctx) => {
  ctx.body = { agent: ctx.params.agent_id, caller: principalOf(ctx)?.userId };
});
router.get("/health", (ctx) => {
  ctx.body = { status: "ok" };
});
new Koa()
  .use(protect(server))
  .use(router.routes())
  .listen(process.env.PORT ?? 3000);
