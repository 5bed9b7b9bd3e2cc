/**
 * How adapters, stores and tools find the pipeline of a resource server. They may come from another copy of
 * the package. This file only imports types, so that they don't load the code that decides.
 */
import type { Pipeline } from "./pipeline.ts";

const PIPELINE = Symbol.for("scopegate.pipeline");

export function attachPipeline(server: object, pipeline: Pipeline): void {
  Object.defineProperty(server, PIPELINE, { value: pipeline });
}

/** Returns whether `createResourceServer` created an object. `{ ...server }`, a copy, has no pipeline. */
export const hasPipeline = (server: object): boolean => PIPELINE in server;

export const pipelineOf = (server: object): Pipeline => Reflect.get(server, PIPELINE) as Pipeline;
