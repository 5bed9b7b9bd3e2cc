/** The routes that NestJS registers at the adapter of its platform, which does not store their handlers. */
import { type INestApplication, RequestMethod } from "@nestjs/common";
import { type ListedRoute } from "../../tools/audit/coverage.ts";
import { type ResourceServer } from "../../core/server.ts";
import { toWrittenPattern } from "../fastify/pattern.ts";
import { attempt } from "../../core/errors.ts";
import { addRemark } from "../../tools/audit/remarks.ts";
import { identityOf } from "../../core/policy/pattern.ts";
import { parseRoutePattern } from "../../core/policy/route-comparison.ts";
import { routesOf as expressRoutesOf } from "../express/list-routes.ts";
import { type ExpressApplication, visit } from "../express/router.ts";
import { isGuard } from "../shared/roles.ts";
import { listInOrder, listRoutes, type Registration, writeOut } from "../shared/route-list.ts";

/** The adapter of the platform that an application runs on. */
export type Adapter = ReturnType<INestApplication["getHttpAdapter"]>;

export const PUBLIC = "scopegate:public";

/** From `reflect-metadata`, which NestJS loads. */
const metadata = Reflect as unknown as { getMetadata(key: string, of: object): unknown };
export const isPublic = (handler: object): boolean => metadata.getMetadata(PUBLIC, handler) === true;

/** NestJS copies the metadata of a controller's method to the handler that it registers. */
const isController = (handler: object): boolean => metadata.getMetadata("path", handler) !== undefined;

const UNGUARDED = Object.freeze({
  message: "is registered at the HTTP adapter: NestJS runs no guard for it.",
  hint: "Move it to a controller.",
});

const notes = new WeakMap<Adapter, (Registration & { readonly isPublic: boolean })[]>();
const wrappers = new WeakSet<object>();

const METHODS = Object.keys(RequestMethod).map((name) => name.toLowerCase());

/** Records the routes that NestJS registers from now on, until `finishRoutes`. */
export function noteRoutes(adapter: Adapter): void {
  const noted = notes.get(adapter) ?? [];
  notes.set(adapter, noted);
  const isFastify = adapter.getType() === "fastify";
  for (const name of METHODS) {
    const register: unknown = Reflect.get(adapter, name);
    if (typeof register !== "function" || Object.hasOwn(adapter, name)) continue;
    const methods = [name === "all" ? "*" : name.toUpperCase()];
    const wrapper = (...given: readonly [path: unknown, handler?: unknown]): unknown => {
      const [path, handler] = given;
      if (typeof path === "string" && typeof handler === "function")
        for (const pattern of writeOut(isFastify ? toWrittenPattern(path) : path || "/"))
          noted.push({
            methods,
            pattern,
            isPublic: isPublic(handler),
            unguarded: isController(handler) ? undefined : UNGUARDED,
          });
      return Reflect.apply(register, adapter, given) as unknown;
    };
    Reflect.set(adapter, name, wrapper);
    wrappers.add(wrapper);
  }
}

/** @throws Error for a handler with `@Public()` whose route has another rule */
export function finishRoutes(adapter: Adapter, server: ResourceServer): void {
  for (const name of METHODS)
    if (wrappers.has(Reflect.get(adapter, name) as object)) Reflect.deleteProperty(adapter, name);
  const marked = notes.get(adapter)?.filter(({ isPublic }) => isPublic) ?? [];
  for (const { method, pattern, rule, parts } of server.audit(listRoutes(marked)).routes) {
    if ([rule, ...parts].every((one) => one?.requirement === "public")) continue;
    throw new Error(
      `A handler has @Public(), but its route is not public in the table. Write "${method} ${pattern}": "public" in scopeMappings, or remove @Public().`,
    );
  }
}

/**
 * Lists the routes of the controllers for `server.audit`, with global prefix and version. Call it after
 * `app.init()`. Routes that a module registers at the HTTP adapter are marked as unguarded, and so are other
 * routes of Express. It does not list routes that are registered directly at Fastify.
 * @throws Error if the application does not import `ScopegateModule`, or is not initialized
 */
export function routesOf(app: Pick<INestApplication, "getHttpAdapter">): readonly ListedRoute[] {
  const adapter = app.getHttpAdapter();
  const noted = notes.get(adapter);
  if (!noted)
    throw new Error(
      "routesOf(app) found no routes: import ScopegateModule, and call routesOf after app.init().",
    );
  if (adapter.getType() === "fastify") return listRoutes(noted);
  const express = adapter.getInstance() as ExpressApplication;
  const routes = listInOrder([...noted, ...findUnnoted(express, noted)]);
  const [first] = routes;
  if (first && hasLateCors(express)) addRemark(first, CORS_AFTER_GUARD);
  return routes;
}

/** Lists the routes of Express that were not registered while NestJS initialized its modules. */
function findUnnoted(express: ExpressApplication, noted: readonly Registration[]): readonly Registration[] {
  const known = new Set(
    noted.flatMap(({ methods, pattern }) => methods.flatMap((one) => identitiesOf(one, pattern))),
  );
  // Express hides applications that are mounted. NestJS runs no guard for them; their routes stay unlisted.
  const listed = attempt(() => expressRoutesOf(express)) ?? [];
  return listed.flatMap(({ method, pattern, unguarded }) => {
    const isKnown = identitiesOf(method, pattern).every((identity) => known.has(identity));
    return isKnown || !unguarded ? [] : [{ methods: [method], pattern, unguarded: UNGUARDED }];
  });
}

/** NestJS writes wildcards in the syntax of the version of Express. */
const identitiesOf = (method: string, pattern: string): readonly string[] =>
  parseRoutePattern(pattern)?.alternatives.map(({ segments }) => `${method} ${identityOf(segments)}`) ?? [
    `${method} ${pattern}`,
  ];

/** With `cors: true`, NestJS adds its middleware in `app.init()`, so after `app.use(protect(server))`. */
function hasLateCors(express: ExpressApplication): boolean {
  const handles = [...visit(express)].map(({ handle }) => handle);
  const guard = handles.findIndex(isGuard);
  const cors = handles.findIndex(
    (handle) => (Object(handle) as { readonly name?: unknown }).name === "corsMiddleware",
  );
  return guard >= 0 && guard < cors;
}

const CORS_AFTER_GUARD = {
  kind: "cors_after_guard",
  severity: "warning",
  message:
    "protect runs before the CORS middleware of NestJS, and refuses every preflight: browsers cannot call the application.",
  hint: "Call app.enableCors() before app.use(protect(server)), instead of passing `cors` to NestFactory.create.",
} as const;
