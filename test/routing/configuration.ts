import type { DynamicModule } from "@nestjs/common";
import type { RequestHandler } from "express";
import type { MiddlewareHandler } from "hono";
import type { Middleware } from "koa";
import type { ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNest from "scopegate/nest";
import type { Recorder } from "./recorder.ts";
import type { Target } from "./targets.ts";

/** `protect` of each framework, or a replacement for it. */
export interface Guard {
  readonly express: () => RequestHandler;
  readonly koa: () => Middleware;
  readonly fastify: () => forFastify.FastifyPlugin;
  readonly hono: () => MiddlewareHandler;
  readonly nest: () => DynamicModule;
}

export const protecting = (server: ResourceServer): Guard => ({
  express: () => forExpress.protect(server),
  koa: () => forKoa.protect(server),
  fastify: () => forFastify.protect(server),
  hono: () => forHono.protect(server),
  nest: () => forNest.ScopegateModule.forRoot(server),
});

/** Runs the same application without a guard. */
export const NO_GUARD: Guard = {
  express: () => (_request, _response, next) => next(),
  koa: () => (_context, next) => next(),
  fastify: () => (_instance, _options, done) => done(),
  hono: () => (_context, next) => next(),
  nest: () => ({ module: class extends Object {} }),
};

export interface Kit {
  readonly guard: Guard;
  readonly recorder: Recorder;
}

export interface Running {
  readonly port: number;
  readonly close: () => Promise<unknown>;
}

/** What a configuration of each framework has in common. */
export interface Setup extends Omit<Configuration, "start"> {
  /** Whether `build` adds the guard. Otherwise, the guard is in front of everything. */
  readonly placesGuard?: true;
}

/** One application: a framework, its router options, and the position of the guard. */
export interface Configuration {
  readonly name: string;
  /** The prefix of every path in the table and in the targets. */
  readonly prefix?: string;
  /** Set if requests bypass the guard, as documented. */
  readonly isOpen?: true;
  /** Replaces the standard targets. */
  readonly targets?: readonly Target[];
  readonly start: (kit: Kit) => Promise<Running>;
}
