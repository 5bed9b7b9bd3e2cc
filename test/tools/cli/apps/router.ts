import Router from "@koa/router";

export { server } from "./server.ts";
const router = new Router();
router.get("/agents/:agent_id", (ctx) => (ctx.body = {}));
router.delete("/agents/:agent_id", (ctx) => (ctx.body = {}));
export default router;
