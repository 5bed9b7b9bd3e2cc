import Router from "@koa/router";
import Koa from "koa";
import { protect } from "scopegate/koa";
import { server } from "./server.ts";

const router = new Router();
router.get("/agents/:agent_id", (ctx) => (ctx.body = {}));
router.delete("/agents/:agent_id", (ctx) => (ctx.body = {}));
const app = new Koa();
app.use(protect(server)).use(router.routes());
export { server };
export default app;
