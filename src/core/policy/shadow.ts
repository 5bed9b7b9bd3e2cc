/** The extension point for a second table, which is compared with the first and enforces nothing. */
import type { Capability } from "../capability.ts";
import type { Report } from "../errors.ts";
import type { AccessRequest } from "../request.ts";
import type { CompiledTable } from "./compile-rules.ts";
import type { Decision } from "./decision.ts";
import type { Governing } from "./governing.ts";
import type { Policy, PolicyRules } from "./policy.ts";
import type { ScopeMappings } from "./scope-mappings.ts";

/** A value of the option `shadow`: `shadowTable(options)` of `scopegate/shadow`. */
export interface Shadow extends Capability {
  readonly option: "shadow";
}

/** What `shadowTable` creates. The type of the option doesn't publish how the core uses it. */
export interface ShadowCapability extends Shadow {
  /** Creates the part of one server, or reports the mistakes in the table. */
  readonly create: (context: ShadowContext, report: Report) => Comparison;
}

/** What the compiler says about plain data in place of a value. */
export interface PlainShadow {
  readonly scopeMappings?: "write shadow: shadowTable({ scopeMappings }), from scopegate/shadow";
}

/** What the shadow has in common with the table that is enforced. */
export interface ShadowContext {
  /** Compiles and checks a table with the options of the server. */
  readonly compile: (defaults: ScopeMappings, customs: ScopeMappings, report: Report) => CompiledTable;
  /** The base table of the server. */
  readonly defaultScopeMappings: ScopeMappings;
  readonly unmappedRoutes: PolicyRules["unmappedRoutes"];
  readonly rules: Pick<PolicyRules, "scopeRules" | "batches" | "momentOf">;
}

/** Finds the rules for the question that was decided, in any policy. */
export type FindRules = (policy: Policy) => Governing;

/** Adds rules to those that a policy has found; returns the same object if there are none to add. */
export type AddRules = (governing: Governing, policy: Policy) => Governing;

/** Decides each question again, after it was decided. */
export interface Comparison {
  readonly policy: Policy;
  /** Returns the decision of the second table if it differs. Reads no credential, and never throws. */
  readonly compare: (
    decision: Decision,
    find: FindRules,
    request: AccessRequest,
  ) => Decision | "undecided" | undefined;
  /** Returns whether the second table has further rules for a question. Never throws. */
  readonly hasFurtherRules: (find: FindRules, addRules: AddRules) => boolean;
}
