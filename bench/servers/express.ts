import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { expressjwt } from "express-jwt";
import { auth } from "express-oauth2-jwt-bearer";
import { createPublicKey } from "node:crypto";
import { Passport } from "passport";
import { ExtractJwt, Strategy } from "passport-jwt";
import { createResourceServer, type ScopeMappings } from "scopegate";
import { protect } from "scopegate/express";
import { createFloor } from "./floor.ts";
import { answer, PATTERN, PLAIN_TABLE, TABLE, WITHOUT_PARAMETER } from "./route.ts";
import { type Issuer, serve } from "./serve.ts";

type Verified = (error: null, user: object) => void;

/** passport-jwt parses a PEM string on every request. It accepts a key object, but its types do not. */
const keyOf = (publicKey: string) => createPublicKey(publicKey) as unknown as Buffer;

/** Without an error handler, Express logs the stack of every refusal. */
const refuse: ErrorRequestHandler = (error: { status?: number; headers?: object }, _req, res, _next) => {
  res
    .status(error.status ?? 500)
    .set(error.headers ?? {})
    .json({ error: "refused" });
};

function create(...guards: readonly RequestHandler[]): Express {
  const app = express();
  for (const guard of guards) app.use(guard);
  app.get(PATTERN, (req, res) => {
    res.json(answer(req.params.agent_id));
  });
  app.use(refuse);
  return app;
}

const guard = ({ publicKey, issuer, audience }: Issuer, scopeMappings: ScopeMappings) =>
  protect(
    createResourceServer({ serviceId: audience, issuer, verificationKeys: [publicKey], scopeMappings }),
  );

await serve({
  "no auth": () => create(),
  floor: ({ publicKey }) => {
    const isKnown = createFloor(publicKey);
    return create((req, res, next) => {
      if (isKnown(req.headers.authorization)) next();
      else res.sendStatus(401);
    });
  },
  scopegate: (issuer) => create(guard(issuer, TABLE)),
  [WITHOUT_PARAMETER]: (issuer) => create(guard(issuer, PLAIN_TABLE)),
  "express-jwt": ({ publicKey, issuer, audience }) =>
    create(expressjwt({ secret: createPublicKey(publicKey), algorithms: ["RS256"], audience, issuer })),
  "passport-jwt": ({ publicKey, issuer, audience }) => {
    const jwtFromRequest = ExtractJwt.fromAuthHeaderAsBearerToken();
    const options = {
      jwtFromRequest,
      secretOrKey: keyOf(publicKey),
      algorithms: ["RS256" as const],
      audience,
      issuer,
    };
    const passport = new Passport();
    passport.use(new Strategy(options, (claims: object, done: Verified) => done(null, claims)));
    return create(passport.authenticate("jwt", { session: false }) as RequestHandler);
  },
  "express-oauth2-jwt-bearer": ({ publicKey, issuer, audience }) =>
    create(auth({ publicKey, tokenSigningAlg: "RS256", issuer, audience })),
});
