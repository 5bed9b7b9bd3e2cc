import * as nest from "@nestjs/common";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { isPending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { findPrincipal, notesOf } from "../shared/guard.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import { createScopeCheck } from "../shared/scope-check.ts";
import { decideCall, readCall, refuse } from "./call.ts";
import { type Adapter, finishRoutes, isPublic, noteRoutes, PUBLIC } from "./routes.ts";

export { RequireScopes as requireScopes };

/**
 * Creates the guard that `ScopegateModule` installs, for `app.useGlobalGuards`. It decides by the rules for
 * the path and for the handler's route. It sends refusals itself: exception filters don't receive them.
 * @throws TypeError for anything but a resource server
 */
export function protect(server: ResourceServer): nest.CanActivate {
  assertResourceServer(server);
  return {
    canActivate(context) {
      const call = readCall(context);
      const conclude = (refusal: Refusal | undefined) => {
        if (refusal) return refuse(call, refusal);
        // No token is read on a public route, so a known caller means that the route has another rule.
        if (isPublic(context.getHandler()) && principalOf(call.raw))
          throw new Error(
            `${context.getHandler().name} has @Public(), but the rule for its route isn't "public". Change the rule, or remove @Public().`,
          );
        return true;
      };
      const refusal = decideCall(server, call);
      return isPending(refusal) ? refusal.then(conclude) : conclude(refusal);
    },
  };
}

/**
 * Requires scopes for a handler, or for each handler of a controller, on top of the rule for its route. The
 * scopes of several decorators are all required. `<name>` is a route parameter. Needs the guard of
 * `ScopegateModule`.
 * @throws ConfigurationError for a scope that no token can be granted
 */
export function RequireScopes(...scopes: readonly string[]): ClassDecorator & MethodDecorator {
  const check = createScopeCheck(scopes, UNGUARDED);
  return nest.UseGuards({
    canActivate(context: nest.ExecutionContext) {
      const call = readCall(context);
      const refusal = check(call.raw, call.seen?.params);
      return refusal ? refuse(call, refusal) : true;
    },
  });
}

/** Declares at a handler that its route has the rule `"public"`. It doesn't make the route public. */
export const Public = (): MethodDecorator => nest.SetMetadata(PUBLIC, true);

/** A parameter of a handler: the principal, as `principalOf` returns it. Throws if no guard ran. */
export const CurrentPrincipal: () => ParameterDecorator = nest.createParamDecorator(
  (_: unknown, context: nest.ExecutionContext) => {
    const { raw } = readCall(context);
    if (notesOf(raw)) return principalOf(raw);
    throw new Error(`@CurrentPrincipal() needs a guard before its handler. ${UNGUARDED}`);
  },
);

const UNGUARDED = "Write imports: [ScopegateModule.forRoot(server)] in the module of the application.";

/**
 * Returns the caller of a request of Express or Fastify; `undefined` on public routes, on optional ones
 * without a token, and if no guard ran.
 * @throws TypeError for an object of another framework
 */
export const principalOf = (request: object): Principal | undefined =>
  findPrincipal("nest", request, "raw" in request ? request.raw : request);

/** How `forRootAsync` creates the resource server: `useFactory` receives the providers in `inject`. */
export type ScopegateAsyncOptions = Pick<nest.ModuleMetadata, "imports"> &
  Pick<nest.FactoryProvider<ResourceServer>, "inject" | "useFactory">;

/** NestJS shows this message if the class is imported without `forRoot`. */
const SERVER = Symbol("ScopegateModule.forRoot(server)");

/**
 * Protects each handler of each controller, on Express and Fastify: it installs `protect(server)` as a global
 * guard. The application doesn't start if a handler has `@Public()` but its route isn't public in the table.
 * NestJS runs no guard for other paths, static files, middleware, and routes of Express or Fastify itself.
 * @example
 * ```ts
 * import { Module } from "@nestjs/common";
 * import { createResourceServer } from "scopegate";
 * import { ScopegateModule } from "scopegate/nest";
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * @Module({ imports: [ScopegateModule.forRoot(server)] })
 * export class AppModule {}
 * ```
 */
export class ScopegateModule {
  #adapter: Adapter | undefined;

  /** @internal */
  constructor(/** The resource server. */ private readonly server: ResourceServer) {}

  /** Installs the guard of a resource server. Throws a TypeError for anything else. */
  static forRoot(server: ResourceServer): nest.DynamicModule {
    assertResourceServer(server, "ScopegateModule.forRoot");
    return ScopegateModule.forRootAsync({ useFactory: () => server });
  }

  /** Installs the guard of a resource server that depends on other providers, such as a configuration. */
  static forRootAsync({ imports = [], inject = [], useFactory }: ScopegateAsyncOptions): nest.DynamicModule {
    const guard = { provide: "APP_GUARD", inject: [SERVER], useFactory: protect };
    return { module: ScopegateModule, imports, providers: [{ provide: SERVER, inject, useFactory }, guard] };
  }

  /** NestJS calls it before it registers routes. @internal */
  configure(consumer: unknown): void {
    this.#adapter = (consumer as { getHttpAdapter(): Adapter }).getHttpAdapter();
    noteRoutes(this.#adapter, this.server);
  }

  /** NestJS calls it after it has registered routes. @internal */
  onApplicationBootstrap(): void {
    if (this.#adapter) finishRoutes(this.#adapter, this.server);
  }
}

// Not written as a decorator: bundlers omit the metadata that it would need.
nest.Inject(SERVER)(ScopegateModule, undefined, 0);
