import type { ExpressApplication } from "../../../adapters/express/router.ts";
import { guardingServers, notedRoutes } from "../../../adapters/nest/noted-routes.ts";
import { isCounted } from "./guards.ts";
import { orUndefined } from "../../../core/errors.ts";
import { checkOptions } from "../../../core/options/check-options.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { identityOf } from "../../../core/policy/pattern.ts";
import { parseRoutePattern } from "../../../core/policy/route-comparison.ts";
import { SERVES } from "../mounts.ts";
import { listExpress } from "./express.ts";
import { listInOrder, listRoutes, type Registration, type RoutesOptions } from "./registration.ts";

interface NestAdapter {
  getType(): string;
  getInstance(): object;
}

interface NestApplication {
  getHttpAdapter(): NestAdapter;
}

/** Returns whether a value is an application of NestJS. */
export const isNest = (value: unknown): value is NestApplication =>
  "getHttpAdapter" in (Object(value) as object);

/**
 * Lists the routes of the controllers, with global prefix and version. Routes that a module registers at the
 * HTTP adapter, and other routes of Express, are marked as unguarded. Routes that are registered directly
 * with Fastify aren't listed.
 * @throws Error if the application doesn't import `ScopegateModule`, or isn't initialized
 */
export function listNest(app: NestApplication, options: RoutesOptions): readonly ListedRoute[] {
  checkOptions("routesOf", options, {});
  const adapter = app.getHttpAdapter();
  const noted = notedRoutes.get(adapter);
  if (!noted)
    throw new Error(
      "routesOf(app) found no routes: import ScopegateModule, and call routesOf after app.init().",
    );
  const servers = [...(guardingServers.get(adapter) ?? [])];
  const hasOnlyOthers = servers.length > 0 && !servers.some(isCounted);
  const registrations = noted.map(({ method, pattern, isController }) => ({
    methods: [method],
    pattern,
    unguarded: isController && !hasOnlyOthers ? undefined : UNGUARDED,
  }));
  if (adapter.getType() === "fastify") return listRoutes(registrations);
  const express = adapter.getInstance();
  return listInOrder([...registrations, ...findUnnoted(express, registrations)]);
}

const UNGUARDED = Object.freeze({
  message: "is registered at the HTTP adapter: NestJS runs no guard for it.",
  hint: "Move it to a controller.",
});

/** Lists the routes of Express that weren't registered while NestJS initialized its modules. */
function findUnnoted(
  express: ExpressApplication,
  registrations: readonly Registration[],
): readonly Registration[] {
  const noted = new Set(
    registrations.flatMap(({ methods, pattern }) => methods.flatMap((name) => identitiesOf(name, pattern))),
  );
  // Express hides mounted applications, so their routes stay unlisted. NestJS runs no guard for them.
  const listed = orUndefined(() => listExpress(express, {})) ?? [];
  return listed.flatMap(({ method, pattern, unguarded, serves }): readonly Registration[] => {
    if (serves === SERVES.lateCors) return [{ methods: [method], pattern, serves: SERVES.lateNestCors }];
    const isNoted = identitiesOf(method, pattern).every((identity) => noted.has(identity));
    return isNoted || !unguarded ? [] : [{ methods: [method], pattern, unguarded: UNGUARDED }];
  });
}

/** NestJS writes wildcards in the syntax of its Express version. */
const identitiesOf = (method: string, pattern: string): readonly string[] =>
  parseRoutePattern(pattern)?.alternatives.map(({ segments }) => `${method} ${identityOf(segments)}`) ?? [
    `${method} ${pattern}`,
  ];
