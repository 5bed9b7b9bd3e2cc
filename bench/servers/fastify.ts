import jwt, { type FastifyJWTOptions } from "@fastify/jwt";
import fastify, { type FastifyInstance } from "fastify";
import { type RequestListener } from "node:http";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/fastify";
import { answer, PATTERN, serve, type Trust } from "./serve.ts";

async function create(secure?: (app: FastifyInstance) => Promise<unknown>): Promise<RequestListener> {
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

/** As its documentation has it: a hook that verifies, and answers with what is thrown. */
function withJwt(
  { publicKey, issuer, audience }: Trust,
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
  scopegate: ({ publicKey, issuer, audience }) =>
    create(async (app) =>
      app.register(
        protect(createResourceServer({ serviceId: audience, issuer, verificationKeys: [publicKey] })),
      ),
    ),
  "@fastify/jwt": (trust) => withJwt(trust),
  // As many tokens as scopegate remembers by default.
  "@fastify/jwt, cache": (trust) => withJwt(trust, { cache: 10_000 }),
});
