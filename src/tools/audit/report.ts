import { brand } from "../../core/errors.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { ReportOnlyFinding } from "../../core/policy/report-only.ts";
import type { Rule } from "../../core/policy/rule.ts";

/** A route of the application with the rule that decides it. */
export interface AuditedRoute extends ListedRoute {
  /** The narrowest rule that covers the whole route; absent if none does. */
  readonly rule?: Rule;
  /** Other rules that decide some of its requests: a narrower path, or HEAD. */
  readonly parts: readonly Rule[];
}

/** What every finding has. Errors make a report fail; warnings and notes do not. */
export interface AuditRemark {
  /** How bad it is. */
  readonly severity: "error" | "warning" | "note";
  /** What was found. */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
}

/** One thing that an audit found; `kind` is stable. */
export type AuditFinding = AuditRemark &
  (
    | {
        readonly kind:
          | "routes_missing"
          | "guard_missing"
          | "operations_missing"
          | "cors_after_guard"
          | "authorization_off";
      }
    | {
        readonly kind: "route_unreadable" | "route_unmapped" | "route_unguarded" | "route_hidden";
        readonly route: ListedRoute;
      }
    /** `rules` are those that cover a part of the route. */
    | {
        readonly kind: "route_partly_mapped";
        readonly route: ListedRoute;
        readonly rules: readonly Rule[];
      }
    /** `rules` are the report-only ones. None, if the server only reports and no rule has scopes. */
    | Pick<ReportOnlyFinding, "kind" | "rules">
    /** The rule names arguments that the operation does not have, or other scopes than its code. */
    | {
        readonly kind: "rule_argument_unknown" | "scopes_differ";
        readonly route: ListedRoute;
        readonly rule: Rule;
      }
    /** `rule` decides a path; `rules` are near it and require more. */
    | {
        readonly kind: "method_weaker" | "root_weaker";
        readonly rule: Rule;
        readonly rules: readonly Rule[];
      }
    | {
        readonly kind:
          | "rule_unreached"
          | "public_catch_all"
          | "scope_literal_id"
          | "scope_unbound"
          | "where_missing"
          | "collection_unfiltered"
          | "rule_overridden";
        readonly rule: Rule;
      }
  );

/**
 * What an audit found, as data and as text.
 *
 * - Errors: no route at all (`routes_missing`), a route that no rule covers (`route_unmapped`), that rules
 *   cover only in part (`route_partly_mapped`), that cannot be read (`route_unreadable`) or that `protect`
 *   does not run in front of (`route_unguarded`), a custom rule that no route reaches (`rule_unreached`), a
 *   scope that names an argument that its operation does not have (`rule_argument_unknown`), a rule whose
 *   scopes are not those that the code of its operation declares (`scopes_differ`), and a public rule for
 *   every path (`public_catch_all`).
 * - Warnings: a changing method, or the root of a subtree, that a wider rule decides which requires less
 *   (`method_weaker`, `root_weaker`), a scope whose second part looks like an id and is probably not one
 *   (`scope_literal_id`), a parameter that other rules compare with a claim (`where_missing`), a server that
 *   checks no scopes (`authorization_off`), a route that an earlier one hides in a framework that runs the
 *   first match (`route_hidden`), an application in which no guard was found (`guard_missing`), CORS
 *   middleware that runs after `protect` (`cors_after_guard`), rules of MCP operations if no operation is
 *   listed (`operations_missing`), and rules or a server whose scopes are not enforced (`report_only`).
 * - Notes: a rule that requires less than the rule of the base table (`rule_overridden`), a collection whose
 *   items have a `where` (`collection_unfiltered`), a default rule that no route reaches, and routes without
 *   a rule that are probably middleware: for OPTIONS, or for every method in front of other routes.
 *
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { audit } from "scopegate/audit";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const report = audit(server, [{ method: "GET", pattern: "/agents/:id" }]);
 * console.log(report.orThrow().summary); // 1 route, with a rule
 * for (const { pattern, rule } of report.routes) console.log(pattern, rule?.key);
 * ```
 */
export interface AuditReport<Finding extends AuditRemark = AuditFinding> {
  /** Whether there is no finding of severity `error`. */
  readonly ok: boolean;
  /** Each route once, in the order of the array; unreadable routes are only in the findings. */
  readonly routes: readonly AuditedRoute[];
  /** Errors first, then warnings, then notes. */
  readonly findings: readonly Finding[];
  /** One line for a log: `12 routes, each with a rule`. */
  readonly summary: string;
  /** For a terminal: the summary, and every finding with its fix. */
  readonly text: string;
  /**
   * Returns the report when it is `ok`, so that one line is enough in a test or at boot. With
   * `warnings: true`, warnings throw as well. Default: `false`.
   * @throws AuditError whose message is `text`
   */
  readonly orThrow: (options?: { readonly warnings?: boolean }) => AuditReport<Finding>;
}

/** Thrown by `orThrow` of an audit report with errors or, on request, warnings. The message is its text. */
export class AuditError extends Error {
  static {
    brand(this, "AuditError");
  }

  /** The name of the class. */
  override readonly name = "AuditError";
  /** The error code. Stable. */
  readonly code = "audit_failed";
}

const SEVERITIES = ["error", "warning", "note"] as const;

/** A finding of any tool that compares something with the table. */
type AnyFinding = AuditRemark & { readonly kind: string; readonly rule?: Rule | undefined };

export function createAuditReport<Finding extends AnyFinding>(
  routes: readonly AuditedRoute[],
  unsorted: readonly Finding[],
  noun = "route",
): AuditReport<Finding> {
  const sorted = SEVERITIES.flatMap((severity) =>
    unsorted.filter((finding) => finding.severity === severity),
  );
  const findings = Object.freeze(sorted.map((finding) => Object.freeze(finding)));
  const ok = !findings.some(({ severity }) => severity === "error");
  const summary = summarize(routes, findings, noun);
  const text = [summary, ...renderFindings(findings)].join("\n\n");
  const report: AuditReport<Finding> = Object.freeze({
    ok,
    routes: Object.freeze([...routes]),
    findings,
    summary,
    text,
    orThrow({ warnings = false } = {}) {
      if (!ok || (warnings && findings.some(({ severity }) => severity === "warning")))
        throw new AuditError(text);
      return report;
    },
  });
  return report;
}

export const renderRoute = ({ method, pattern }: ListedRoute): string => `${method} ${pattern}`;

function summarize(routes: readonly AuditedRoute[], findings: readonly AnyFinding[], noun: string): string {
  const counts = SEVERITIES.slice(0, 2).flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [plural(count, severity)];
  });
  const mapped = routes.filter(({ rule }) => rule !== undefined).length;
  const unreadable = findings.filter(({ kind }) => kind === "route_unreadable").length;
  const share = describeShare(mapped, routes.length + unreadable, noun);
  return [share, ...(counts.length > 0 ? [counts.join(", ")] : [])].join("; ");
}

function describeShare(mapped: number, all: number, noun: string): string {
  if (all === 0) return `no ${noun}s`;
  if (mapped < all) return `${plural(all, noun)}, ${mapped} with a rule`;
  return all === 1 ? `1 ${noun}, with a rule` : `${all} ${noun}s, each with a rule`;
}

/** Default rules without a route are one entry, because a base table is broader than one application. */
function renderFindings(findings: readonly AnyFinding[]): readonly string[] {
  const [first, ...others] = findings.filter(
    ({ kind, severity }) => kind === "rule_unreached" && severity === "note",
  );
  return findings
    .filter((finding) => !others.some((other) => other === finding))
    .map((finding) => {
      const { severity, kind, hint } = finding;
      const unused = finding === first && others.length > 0 ? [first, ...others] : [];
      const keys = unused.map(({ rule }) => `\`${rule?.key}\``).join(", ");
      const summary = `${unused.length} default rules are reached by no route: ${keys}.`;
      return `${severity} ${kind}: ${unused.length > 0 ? summary : finding.message}\n  ${hint}`;
    });
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
