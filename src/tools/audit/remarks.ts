/** Findings that are only known where the routes of an application are listed. */
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { AuditFinding } from "./report.ts";

const remarks = new WeakMap<ListedRoute, AuditFinding>();

/** Reports a finding in every audit of a route. */
export const addRemark = (route: ListedRoute, finding: AuditFinding): void => {
  remarks.set(route, finding);
};

/** Returns each finding about the application of these routes, once. */
export const remarksOn = (routes: readonly ListedRoute[]): readonly AuditFinding[] => [
  ...new Set(routes.flatMap((route) => remarks.get(route) ?? [])),
];
