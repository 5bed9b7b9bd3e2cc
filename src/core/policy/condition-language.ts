/** The extension point for conditions: properties of an entry that restrict who may call, besides scopes. */
import type { Report } from "../errors.ts";
import type { Path } from "../request.ts";
import type { ScopeRules } from "../scopes/granted-scopes.ts";
import type { Principal } from "../token/principal.ts";
import type { CallerConditions, CompiledConditions, Conditions, Moment } from "./conditions.ts";
import type { Decision } from "./decision.ts";
import type { KeyLanguage, OperationRules } from "./key-language.ts";
import type { PatternSegment } from "./pattern.ts";
import type { OperationRestrictions, Restrictions } from "./restrictions.ts";
import type { RouteKey } from "./route-key.ts";
import type { CompiledRule, Restriction, RuleMatch } from "./rule.ts";
import type { LeafMatch, RuleTree } from "./rule-tree.ts";

type Segments = readonly PatternSegment[];

/** What `callerConditions()` creates. The type of the option doesn't publish how the core uses it. */
export interface ConditionCapability extends CallerConditions {
  readonly language: ConditionLanguage;
}

/** Compiles conditions. It has no state, so several tables can use it. */
export interface ConditionLanguage {
  /** Compiles the conditions of an entry at `path` of the options, or reports the mistakes in them. */
  readonly compile: (
    written: Conditions,
    route: RouteKey,
    path: readonly (string | number)[],
    report: Report,
    /** Parses the keys of operations. */
    keys: KeyLanguage | undefined,
  ) => CompiledConditions | undefined;
  /** Collects the rules that have conditions; `undefined` if none has. */
  readonly collect: (rules: readonly CompiledRule[]) => ConditionedRules | undefined;
}

export interface ConditionedRules extends OperationRestrictions {
  /** Reports conditions that can't take effect as they are written. */
  readonly check: (table: ConditionedTable, options: ConditionOptions, report: Report) => void;
  /** Finds the restrictions of a path that these rules decide. */
  readonly forPath: (method: string, path: Path, deciding: readonly LeafMatch[]) => Restrictions;
  /** Adds rules that decide because of a route, and the restrictions of other readings of the path. */
  readonly addRoute: (
    ofPath: Restrictions,
    added: readonly LeafMatch[],
    ofReadings: readonly Restrictions[],
  ) => Restrictions;
  /** Returns the scopes of each `also` that applies to all of these requests, with sample parameters. */
  readonly alsoAt: (
    deciding: PlacedRule,
    requests: Requests,
    sample: (segments: Segments) => (name: string) => string,
  ) => readonly string[];
  /** Decides by the scopes of the rules that match, and by restrictions. */
  readonly decide: (
    matches: readonly RuleMatch[],
    restrictions: readonly Restriction[],
    caller: KnownCaller,
  ) => Decision;
  /** Returns whether a caller meets all conditions, without describing which ones it doesn't meet. */
  readonly areMet: (restrictions: readonly Restriction[], caller: KnownCaller) => boolean;
}

/** A rule, and the segments of one of its alternatives; none for an operation. */
export interface PlacedRule {
  readonly compiled: CompiledRule;
  readonly segments: Segments;
}

/** The requests that two rules are compared for. */
export interface Requests {
  readonly method: string;
  readonly segments: Segments;
}

/** The part of a table that conditions are checked against. */
export interface ConditionedTable {
  readonly rules: readonly CompiledRule[];
  readonly tree: RuleTree;
  readonly operations: Pick<OperationRules, "find"> | undefined;
  readonly language: KeyLanguage | undefined;
}

/** The options of the server that conditions depend on. */
export interface ConditionOptions {
  readonly authorization: boolean;
  /** The issuers whose tokens may have different claims. */
  readonly issuers: readonly string[];
  /** Whether there may be other issuers, which are found while the server runs. */
  readonly findsIssuers: boolean;
  /** Whether an issuer can have a tenant. */
  readonly hasTenants: boolean;
  /** Whether tokens can be bound to a key of the client. */
  readonly checksKeys: boolean;
}

/** A known caller, and when it calls. */
export interface KnownCaller {
  readonly principal: Principal;
  readonly scopeRules: ScopeRules;
  readonly moment: Moment;
}
