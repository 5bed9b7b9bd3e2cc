import { assertNoOptions } from "../../../adapters/shared/misuse.ts";

/** How the routes of an application are listed. */
export interface RoutesOptions {
  /** Koa: the path that was passed to koa-mount, such as `/api`. Default: none. */
  readonly prefix?: string;
  /** Express: the applications that are mounted in this one, which Express hides. Default: none. */
  readonly mounted?: readonly object[];
}

/** Fails for an option that has no effect for a framework, such as the `prefix` of Koa in Express. */
export function assertNoOther(others: object, application: string, takes = "no options"): void {
  assertNoOptions(others as Record<string, never>, `It takes ${takes}.`, `routesOf of ${application}`);
}
