/**
 * Every name of `scopegate`, with the same `createResourceServer`, plus what configuration files and tables
 * in layers need. A service that writes its options in code imports `scopegate`, which loads less.
 */
export * from "../index.ts";
export { parseConfiguration } from "./configuration.ts";
export { mergeScopeMappings } from "./merge.ts";
