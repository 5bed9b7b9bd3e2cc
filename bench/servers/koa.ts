import Router from "@koa/router";
import Koa, { type Middleware } from "koa";
import jwt from "koa-jwt";
import { createPublicKey } from "node:crypto";
import type { RequestListener } from "node:http";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect } from "scopegate/koa";
import { createFloor } from "./floor.ts";
import { answer, PATTERN, PLAIN_TABLE, TABLE, WITHOUT_PARAMETER } from "./route.ts";
import { type Issuer, serve } from "./serve.ts";

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

const guard = ({ publicKey, issuer, audience }: Issuer, scopeMappings: ScopeMappings) =>
  protect(
    createResourceServer({ serviceId: audience, issuer, verificationKeys: [publicKey], scopeMappings }),
  );

await serve({
  "no auth": () => create(),
  floor: ({ publicKey }) => {
    const isKnown = createFloor(publicKey);
    return create((ctx, next) => (isKnown(ctx.headers.authorization) ? next() : ctx.throw(401)));
  },
  scopegate: (issuer) => create(guard(issuer, TABLE)),
  [WITHOUT_PARAMETER]: (issuer) => create(guard(issuer, PLAIN_TABLE)),
  "koa-jwt": ({ publicKey, issuer, audience }) => {
    // koa-jwt parses a PEM string on every request. It accepts a key object, but its types do not.
    const secret = createPublicKey(publicKey) as unknown as Buffer;
    return create(jwt({ secret, algorithms: ["RS256"], audience, issuer }));
  },
});
