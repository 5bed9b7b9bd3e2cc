import Router from "@koa/router";
import Koa, { type Middleware } from "koa";
import jwt from "koa-jwt";
import { createPublicKey } from "node:crypto";
import { type RequestListener } from "node:http";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/koa";
import { answer, PATTERN, serve } from "./serve.ts";

function create(...guards: readonly Middleware[]): RequestListener {
  const app = new Koa();
  for (const guard of guards) app.use(guard);
  const router = new Router();
  router.get(PATTERN, (ctx) => {
    ctx.body = answer(ctx.params["agent_id"]);
  });
  app.use(router.routes());
  const respond = app.callback();
  return (request, response) => void respond(request, response);
}

await serve({
  "no auth": () => create(),
  scopegate: ({ publicKey, issuer, audience }) =>
    create(protect(createResourceServer({ serviceId: audience, issuer, verificationKeys: [publicKey] }))),
  "koa-jwt": ({ publicKey, issuer, audience }) => {
    // Its types know secrets as text and bytes alone; a key object is what keeps it from reading the PEM per request.
    const secret = createPublicKey(publicKey) as unknown as Buffer;
    return create(jwt({ secret, algorithms: ["RS256"], audience, issuer }));
  },
});
