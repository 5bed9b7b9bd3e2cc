/**
 * Every name of `scopegate`, with the same `createResourceServer`, plus what configuration files and tables
 * in layers need. A service that writes its options in code imports `scopegate`, which loads less.
 */
export * from "../index.ts";
export { createResourceServer, type ResourceServerOptions, type TrustedIssuer } from "./create.ts";
export type { GrantsFor } from "../capabilities/grants/index.ts";
export type { JsonWebKeySet, KeyFetch } from "../capabilities/keys/index.ts";
export type { KeySource } from "../capabilities/keys/shape.ts";
export { parseConfiguration } from "./configuration.ts";
export { mergeScopeMappings } from "./merge.ts";
