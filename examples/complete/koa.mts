import { bodyParser } from "@koa/bodyparser";
import cors from "@koa/cors";
import Router from "@koa/router";
import Koa from "koa";
import { audit, routesOf } from "scopegate/audit";
import { principalOf, protect, requireScopes } from "scopegate/koa";
import { storesFor, server, textOf } from "./service.mts";

const router = new Router();
router.get("/stores", (ctx) => {
  ctx.body = storesFor(principalOf(ctx));
});
router.get("/stores/:store_id", (ctx) => {
  ctx.body = { store: ctx.params["store_id"], caller: principalOf(ctx)?.userId };
});
router.get("/stores/:store_id/logs", requireScopes("logs:<store_id>:read"), (ctx) => {
  ctx.body = [];
});
router.post("/orders", (ctx) => {
  ctx.body = { text: textOf(ctx.request.body), by: principalOf(ctx)?.userId };
  ctx.status = 201;
});
router.get("/health", (ctx) => {
  ctx.body = { status: "ok" };
});

const app = new Koa();
app.on("error", (error: Error) => console.error(error.message));
app.use(cors({ origin: "https://app.example", exposeHeaders: ["WWW-Authenticate", "DPoP-Nonce"] })); // 1. preflights
app.use(async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    // 2. Receives errors only: `protect` responds to refused requests itself.
    ctx.status = 500;
    ctx.body = { title: "Internal Server Error", status: 500 };
    ctx.app.emit("error", error, ctx);
  }
});
app.use(protect(server)); // 3. checks every request
app.use(bodyParser()); // 4. reads bodies only of allowed callers
app.use(router.routes());

audit(server, routesOf(app)).orThrow();
await server.ready();
app.listen(3000);
