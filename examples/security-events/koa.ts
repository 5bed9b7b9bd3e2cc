import { bodyParser } from "@koa/bodyparser";
import Router from "@koa/router";
import Koa from "koa";
import { protect } from "scopegate/koa";
import { receive, server } from "./events.js";

const parseEvent = bodyParser({
  enableTypes: ["text"],
  extendTypes: { text: ["application/secevent+jwt"] },
  textLimit: "64kb",
});
const router = new Router();
router.post("/events", parseEvent, async (ctx) => {
  const { status, headers, body } = await receive(ctx.request.body);
  ctx.set(headers);
  ctx.body = body;
  ctx.status = status;
});
new Koa().use(protect(server)).use(router.routes()).listen(3000);
