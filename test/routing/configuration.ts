import type { RequestHandler } from "express";
import type { Middleware } from "koa";
import { type ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { type Recorder } from "./recorder.ts";
import { type Target } from "./targets.ts";

/** `protect` of each framework, or something in its place. */
export interface Guard {
  readonly express: () => RequestHandler;
  readonly koa: () => Middleware;
  readonly fastify: () => forFastify.FastifyPlugin;
}

export const protecting = (server: ResourceServer): Guard => ({
  express: () => forExpress.protect(server),
  koa: () => forKoa.protect(server),
  fastify: () => forFastify.protect(server),
});

/** For the same application without a guard. */
export const NO_GUARD: Guard = {
  express: () => (_request, _response, next) => next(),
  koa: () => (_context, next) => next(),
  fastify: () => (_instance, _options, done) => done(),
};

export interface Kit {
  readonly guard: Guard;
  readonly recorder: Recorder;
}

export interface Running {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** One application: a framework, the options of its router, and where the guard stands. */
export interface Configuration {
  readonly name: string;
  /** What stands in front of each path of the table and of the targets. */
  readonly prefix?: string;
  /** Requests pass by the guard, and the documentation says so. */
  readonly isOpen?: true;
  /** Instead of the standard targets. */
  readonly targets?: readonly Target[];
  readonly start: (kit: Kit) => Promise<Running>;
}
