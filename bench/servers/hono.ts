import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { jwk } from "hono/jwk";
import { jwt } from "hono/jwt";
import { importSPKI } from "jose";
import { createPublicKey } from "node:crypto";
import type { RequestListener } from "node:http";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect } from "scopegate/hono";
import { createFloor } from "./floor.ts";
import { answer, PATTERN, PLAIN_TABLE, TABLE, WITHOUT_PARAMETER } from "./route.ts";
import { KID } from "../tokens.ts";
import { type Issuer, serve } from "./serve.ts";

function create(...guards: readonly MiddlewareHandler[]): RequestListener {
  const app = new Hono();
  for (const guard of guards) app.use(guard);
  app.get(PATTERN, (context) => context.json(answer(context.req.param("agent_id"))));
  const respond = getRequestListener(app.fetch);
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
    return create((context, next) =>
      isKnown(context.req.header("authorization")) ? next() : Promise.resolve(context.body(null, 401)),
    );
  },
  scopegate: (issuer) => create(guard(issuer, TABLE)),
  [WITHOUT_PARAMETER]: (issuer) => create(guard(issuer, PLAIN_TABLE)),
  // hono/jwt parses a PEM string on every request.
  "hono/jwt": async ({ publicKey, issuer, audience }) => {
    const secret = await importSPKI(publicKey, "RS256");
    return create(jwt({ secret, alg: "RS256", verification: { iss: issuer, aud: audience } }));
  },
  "hono/jwk": ({ publicKey, issuer, audience }) => {
    const key = createPublicKey(publicKey).export({ format: "jwk" });
    const known = { ...key, kid: KID, alg: "RS256" };
    const verification = { iss: issuer, aud: audience };
    return create(jwk({ keys: [known], alg: ["RS256"], verification }));
  },
});
