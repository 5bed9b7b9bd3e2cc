import { brand } from "../../core/errors.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { Rule } from "../../core/policy/rule.ts";

/** A route of the application with the rule that decides it. */
export interface AuditedRoute extends ListedRoute {
  /** The narrowest rule that covers the whole route; absent if none does. */
  readonly rule?: Rule;
  /** Other rules that decide some of its requests, for a narrower path or for HEAD. */
  readonly parts: readonly Rule[];
}

/** The properties of every finding. Errors make a report fail; warnings and notes don't. */
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
          | "authorization_off"
          | "not_audited";
      }
    | {
        readonly kind:
          "route_unreadable" | "route_unmapped" | "route_unguarded" | "route_hidden" | "route_differs";
        readonly route: ListedRoute;
      }
    /** `route` is the source of a rewrite in Next.js, and `routes` are those that it opens. */
    | {
        readonly kind: "rewrite_weaker";
        readonly route: ListedRoute;
        readonly routes: readonly ListedRoute[];
      }
    /** `rules` are those that cover a part of the route. */
    | {
        readonly kind: "route_partly_mapped";
        readonly route: ListedRoute;
        readonly rules: readonly Rule[];
      }
    /** The rule names arguments that the operation doesn't have, or other scopes than its code. */
    | {
        readonly kind: "rule_argument_unknown" | "rule_argument_type" | "scopes_differ" | "scopes_unknown";
        readonly route: ListedRoute;
        readonly rule: Rule;
      }
    /** The rule of the operation, if it has one, doesn't read this argument. */
    | { readonly kind: "argument_of_path"; readonly route: ListedRoute }
    /** `rule` decides requests beside `rules`, which are narrower, and doesn't require what they require. */
    | {
        readonly kind: "wider_rule_weaker";
        readonly rule: Rule;
        readonly rules: readonly Rule[];
      }
    | {
        readonly kind:
          | "override_weaker"
          | "rule_unreached"
          | "public_catch_all"
          | "scope_literal_id"
          | "scope_covers_items"
          | "claim_spelling"
          | "scope_unbound"
          | "where_missing"
          | "where_fixed_text"
          | "exception_wide"
          | "collection_unfiltered"
          | "rule_overridden";
        readonly rule: Rule;
      }
  );

/**
 * What an audit found, as data and as text.
 *
 * Errors are mistakes, warnings are probably mistakes, and notes never make an audit fail. The guide
 * "Prove that every route has a rule" explains each `kind`.
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
  /** Whether there's no finding of severity `error`. */
  readonly ok: boolean;
  /** Each route once, in the order of the array. Unreadable routes are only in the findings. */
  readonly routes: readonly AuditedRoute[];
  /** Errors first, then warnings, then notes. */
  readonly findings: readonly Finding[];
  /** One line for a log: `12 routes, each with a rule`. */
  readonly summary: string;
  /** For a terminal: the summary, and every finding with its fix. */
  readonly text: string;
  /**
   * Returns the report if it is `ok`, so that one line is enough in a test or at startup. With
   * `warnings: true`, warnings throw as well. Default: `false`.
   * @throws AuditError whose message is `text`
   */
  readonly orThrow: (options?: { readonly warnings?: boolean }) => AuditReport<Finding>;
}

/** Thrown by `orThrow` of an audit report with errors or, on request, warnings. The message is its `text`. */
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
  const all = routes.length + findings.filter(({ kind }) => kind === "route_unreadable").length;
  let share = all === 1 ? `1 ${noun}, with a rule` : `${all} ${noun}s, each with a rule`;
  if (mapped < all) share = `${plural(all, noun)}, ${mapped} with a rule`;
  if (all === 0) share = `no ${noun}s`;
  return counts.length === 0 ? share : `${share}; ${counts.join(", ")}`;
}

/**
 * All default rules without a route become one entry, because a base table is broader than one application.
 */
function renderFindings(findings: readonly AnyFinding[]): readonly string[] {
  const unused = findings.filter(({ kind, severity }) => kind === "rule_unreached" && severity === "note");
  const keys = unused.map(({ rule }) => `\`${rule?.key}\``).join(", ");
  const group = `${unused.length} default rules are reached by no route: ${keys}.`;
  const repeated = new Set(unused.slice(1));
  return findings.flatMap((finding) => {
    const message = finding === unused[0] && repeated.size > 0 ? group : finding.message;
    return repeated.has(finding) ? [] : `${finding.severity} ${finding.kind}: ${message}\n  ${finding.hint}`;
  });
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
