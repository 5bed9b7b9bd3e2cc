import "reflect-metadata";
import { createPublicKey } from "node:crypto";
import type { RequestListener } from "node:http";
import { Controller, Get, Module, Param, UnauthorizedException } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { AuthGuard, PassportModule, PassportStrategy } from "@nestjs/passport";
import { ExtractJwt, Strategy } from "passport-jwt";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/nest";
import { createFloor } from "./floor.ts";
import { answer, PATTERN, TABLE } from "./route.ts";
import { serve } from "./serve.ts";

class Agents {
  one(id: string) {
    return answer(id);
  }
}

// Decorators as functions: the bundler of the benchmark has no options for them.
const descriptor = Object.getOwnPropertyDescriptor(Agents.prototype, "one") ?? {};
Param("agent_id")(Agents.prototype, "one", 0);
Get(PATTERN)(Agents.prototype, "one", descriptor);
Controller()(Agents);

type Guard = Parameters<Awaited<ReturnType<typeof NestFactory.create>>["useGlobalGuards"]>[0];

async function create(guard?: Guard, providers: readonly object[] = []): Promise<RequestListener> {
  const AppModule = class extends Object {};
  Module({ imports: [PassportModule], controllers: [Agents], providers: [...providers] as [] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false } as object);
  if (guard) app.useGlobalGuards(guard);
  await app.init();
  return app.getHttpAdapter().getInstance() as RequestListener;
}

await serve({
  "no auth": () => create(),
  floor: ({ publicKey }) => {
    const isKnown = createFloor(publicKey);
    return create({
      canActivate(context) {
        const request = context.switchToHttp().getRequest<{ headers: { authorization?: string } }>();
        if (isKnown(request.headers.authorization)) return true;
        throw new UnauthorizedException();
      },
    });
  },
  scopegate: ({ publicKey, issuer, audience }) =>
    create(
      protect(
        createResourceServer({
          serviceId: audience,
          issuer,
          verificationKeys: [publicKey],
          scopeMappings: TABLE,
        }),
      ),
    ),
  "@nestjs/passport": ({ publicKey, issuer, audience }) => {
    class Jwt extends PassportStrategy(Strategy) {
      constructor() {
        super({
          jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
          // passport-jwt parses a PEM string on every request. It accepts a key object, but its types do not.
          secretOrKey: createPublicKey(publicKey) as unknown as Buffer,
          algorithms: ["RS256"],
          audience,
          issuer,
        });
      }

      validate(claims: object): object {
        return claims;
      }
    }
    return create(new (AuthGuard("jwt"))(), [Jwt]);
  },
});
