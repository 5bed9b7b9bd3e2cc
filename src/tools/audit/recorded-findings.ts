/** Findings about routes that only the code that lists them can know. */
import type { CheckedTable } from "../../core/policy/implication.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { UnmappedRoutes } from "../../core/policy/policy.ts";
import type { AuditFinding } from "./report.ts";

type Finder = (table: CheckedTable, fate: UnmappedRoutes) => readonly AuditFinding[];

const finders = new WeakMap<ListedRoute, readonly Finder[]>();

/** Lets audits of a listed route report what a function finds. */
export const recordFinder = (route: ListedRoute, find: Finder): void => {
  finders.set(route, [...findersOf(route), find]);
};

export const findersOf = (route: ListedRoute): readonly Finder[] => finders.get(route) ?? [];
