import { audit } from "../audit/audit.ts";
import { findCatchAlls } from "../audit/catch-all.ts";
import { findInTable } from "../audit/table-findings.ts";
import { describeBaseTable } from "../shared/base-table.ts";
import { createHandler, type PageHandler } from "./handler.ts";
import { assertResourceServer } from "../../adapters/shared/misuse.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { anyString, anyValue, type OptionChecks } from "../../core/options/option-checks.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { entryOf } from "../../core/policy/compile-rules.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { HEADERS, renderPage } from "./document.ts";
import { isRole, type PageData, type PageRole } from "./page-data.ts";

export type { PageHandler } from "./handler.ts";
export type { PageRole } from "./page-data.ts";

/** The options of `page` and `pageHandler`. */
export interface PageOptions {
  /** The heading. Default: `"Policy"`. */
  readonly title?: string;
  /** The routes of the application, from `routesOf`, or a function that lists them. Default: no audit. */
  readonly routes?: Iterable<ListedRoute> | (() => Iterable<ListedRoute>);
  /** What each role is granted. Each role is a column of the table. Default: none. */
  readonly roles?: Readonly<Record<string, PageRole>>;
}

const OPTIONS: OptionChecks<PageOptions> = {
  title: anyString,
  // The audit checks the routes.
  routes: anyValue,
  roles: {
    accepts: (roles) => typeof roles === "object" && roles !== null && Object.values(roles).every(isRole),
    hint: 'Write an object that maps a role to an array of scopes: { reader: ["agents:read"] }.',
  },
};

/**
 * Returns the policy of a server as one HTML file, which loads nothing: the table, who may use which route,
 * why a request is refused, roles, and the audit. Its decisions are those of `explain`. It contains
 * the table and its options, but no keys. Anyone with the file can read it; `pageHandler` requires a token.
 *
 * @throws TypeError for anything but a resource server, and for `routes` that aren't an iterable of
 *   `{ method, pattern }`
 * @throws ConfigurationError that lists every mistake in the options
 */
export function page(server: ResourceServer, options: PageOptions = {}): string {
  assertResourceServer(server, "page");
  checkOptions("page", options, OPTIONS);
  const { title = "Policy", routes, roles = {} } = options;
  const pipeline = pipelineOf(server);
  const policyRules = pipeline.policy.rules;
  const shadow = pipeline.rules.shadow?.policy.rules;
  const { adminScope, implied } = policyRules.scopeRules;
  const listed = typeof routes === "function" ? routes() : routes;
  const report = listed && audit(server, listed);
  const findings = report?.findings ?? [...findCatchAlls(policyRules.rules, {}), ...findInTable(policyRules)];
  return renderPage({
    title,
    policy: server.health().policy,
    rules: policyRules.rules.map(toPageRule),
    shadow: shadow && { rules: shadow.rules.map(toPageRule), unmappedRoutes: shadow.unmappedRoutes },
    authorization: policyRules.authorization,
    unmappedRoutes: policyRules.unmappedRoutes,
    hasBatches: policyRules.batches !== undefined,
    adminScope,
    baseTable: describeBaseTable(policyRules),
    implied: [...implied],
    findings: findings.map((finding) => ({
      severity: finding.severity,
      message: finding.message,
      hint: finding.hint,
      rule: "rule" in finding ? finding.rule.key : undefined,
    })),
    audit: report?.summary,
    roles: Object.entries(roles),
  });
}

const toPageRule = (compiled: CompiledRule): PageData["rules"][number] => ({
  key: compiled.rule.key,
  source: compiled.rule.source,
  entry: entryOf(compiled),
});

/**
 * Serves the page as a route of Express, Koa, Fastify, Hono, the Fetch standard or Node.js. It needs a rule
 * like any other route: `"GET /policy": ["policy:read"]`. It throws if `protect` of the same server hasn't
 * allowed the request, or allowed it without a token. The page is created once, at the first request. Wrong
 * `routes` make this request fail.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { routesOf } from "scopegate/audit";
 * import { protect } from "scopegate/express";
 * import { pageHandler } from "scopegate/page";
 *
 * const scopeMappings = { "GET /policy": ["policy:read"] };
 * const server = createResourceServer({ serviceId: "agents", verificationKeys: [process.env.JWT_PUBLIC_KEY!], scopeMappings });
 * const app = express();
 * app.use(protect(server));
 * app.get("/policy", pageHandler(server, { routes: () => routesOf(app) }));
 * ```
 */
export function pageHandler(server: ResourceServer, options: PageOptions = {}): PageHandler {
  assertResourceServer(server, "pageHandler");
  checkOptions("pageHandler", options, OPTIONS);
  let body: string | undefined;
  const render = () => (body ??= page(server, options));
  return createHandler(server, ({ principal }) => {
    if (principal) return { status: 200, headers: HEADERS, body: render() };
    // A mounted handler also receives requests whose rule is public.
    throw new Error("pageHandler needs a caller with a token: write a rule that requires one.");
  });
}
