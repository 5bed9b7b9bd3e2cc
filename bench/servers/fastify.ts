import jwt, { type FastifyJWTOptions } from "@fastify/jwt";
import fastify, { type FastifyInstance } from "fastify";
import type { RequestListener } from "node:http";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/fastify";
import { createFloor } from "./floor.ts";
import { answer, PATTERN, TABLE } from "./route.ts";
import { type Issuer, serve } from "./serve.ts";

async function create(secure?: (app: FastifyInstance) => unknown): Promise<RequestListener> {
  const app = fastify();
  await secure?.(app);
  app.get<{ Params: { agent_id: string } }>(PATTERN, (request, reply) =>
    reply.send(answer(request.params.agent_id)),
  );
  await app.ready();
  return (request, response) => {
    app.routing(request, response);
  };
}

/** Uses the hook that the documentation of @fastify/jwt shows. */
function withJwt(
  { publicKey, issuer, audience }: Issuer,
  more?: FastifyJWTOptions["verify"],
): Promise<RequestListener> {
  return create(async (app) => {
    const verify = { algorithms: ["RS256" as const], allowedIss: issuer, allowedAud: audience, ...more };
    await app.register(jwt, { secret: { public: publicKey }, verify });
    app.addHook("onRequest", async (request, reply) => {
      try {
        await request.jwtVerify();
      } catch (error) {
        reply.send(error);
      }
    });
  });
}

await serve({
  "no auth": () => create(),
  floor: ({ publicKey }) => {
    const isKnown = createFloor(publicKey);
    return create((app) => {
      app.addHook("onRequest", (request, reply, done) => {
        if (isKnown(request.headers.authorization)) done();
        else reply.code(401).send();
      });
    });
  },
  scopegate: ({ publicKey, issuer, audience }) =>
    create(async (app) =>
      app.register(
        protect(
          createResourceServer({
            serviceId: audience,
            issuer,
            verificationKeys: [publicKey],
            scopeMappings: TABLE,
          }),
        ),
      ),
    ),
  "@fastify/jwt": (issuer) => withJwt(issuer),
  // scopegate caches as many tokens by default.
  "@fastify/jwt, cache": (issuer) => withJwt(issuer, { cache: 10_000 }),
});
