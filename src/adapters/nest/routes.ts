/** Records the routes that NestJS registers at the adapter of its platform. */
import { type INestApplication, RequestMethod } from "@nestjs/common";
import { pipelineOf } from "../../core/port.ts";
import { createRouteCoverage } from "../shared/route-coverage.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { toWrittenPattern } from "../fastify/pattern.ts";
import { guardingServers, notedRoutes } from "./noted-routes.ts";

/** The adapter of the platform that an application runs on. */
export type Adapter = ReturnType<INestApplication["getHttpAdapter"]>;

export const PUBLIC = "scopegate:public";

/** From `reflect-metadata`, which NestJS loads. */
const metadata = Reflect as unknown as { getMetadata(key: string, of: object): unknown };
export const isPublic = (handler: object): boolean => metadata.getMetadata(PUBLIC, handler) === true;

/** NestJS copies the metadata of a controller's method to the handler that it registers. */
const isController = (handler: object): boolean => metadata.getMetadata("path", handler) !== undefined;

const wrappers = new WeakSet<object>();

const METHODS = Object.keys(RequestMethod).map((name) => name.toLowerCase());

/** Records the routes that NestJS registers from now on, until `finishRoutes`. */
export function noteRoutes(adapter: Adapter, server: ResourceServer): void {
  const { writeOut } = pipelineOf(server).patterns;
  const noted = notedRoutes.get(adapter) ?? [];
  notedRoutes.set(adapter, noted);
  const isFastify = adapter.getType() === "fastify";
  for (const name of METHODS) {
    const register: unknown = Reflect.get(adapter, name);
    if (typeof register !== "function" || Object.hasOwn(adapter, name)) continue;
    const method = name === "all" ? "*" : name.toUpperCase();
    const wrapper = (...values: readonly [path: unknown, handler?: unknown]): unknown => {
      const [path, handler] = values;
      if (typeof path === "string" && typeof handler === "function")
        for (const pattern of writeOut(isFastify ? toWrittenPattern(path) : path || "/"))
          noted.push({ method, pattern, isPublic: isPublic(handler), isController: isController(handler) });
      return Reflect.apply(register, adapter, values) as unknown;
    };
    Reflect.set(adapter, name, wrapper);
    wrappers.add(wrapper);
  }
}

/** @throws Error for a handler with `@Public()` whose route has another rule */
export function finishRoutes(adapter: Adapter, server: ResourceServer): void {
  guardingServers.set(adapter, (guardingServers.get(adapter) ?? new Set()).add(server));
  for (const name of METHODS)
    if (wrappers.has(Reflect.get(adapter, name) as object)) Reflect.deleteProperty(adapter, name);
  const { policy, patterns } = pipelineOf(server);
  const marked = notedRoutes.get(adapter)?.filter((route) => route.isPublic) ?? [];
  for (const route of marked) {
    const pattern = patterns.parseRoutePattern(route.pattern);
    if (!pattern) continue;
    const { rule, deciding } = createRouteCoverage(policy.rules, route, pattern);
    if (rule && deciding.every(({ requirement }) => requirement.kind === "public")) continue;
    throw new Error(
      `A handler has @Public(), but its route isn't public in the table. Write "${route.method} ${route.pattern}": "public" in scopeMappings, or remove @Public().`,
    );
  }
}
