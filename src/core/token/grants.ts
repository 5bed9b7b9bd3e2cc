/** The extension point for scopes that a store grants, in addition to those of a token. */
import type { Capability } from "../capability.ts";
import type { Pending } from "../runtime/pending.ts";
import type { ScopeRules } from "../scopes/granted-scopes.ts";
import type { Identified } from "./identification.ts";

/** A value of the option `grants`: `grantsFrom(lookup)` of `scopegate/grants`. */
export interface Grants extends Capability {
  readonly option: "grants";
  /** Creates the function of one server that adds scopes. It's synchronous if it needs no look-up. */
  readonly create: (context: GrantsContext) => (identified: Identified) => Pending<Identified>;
}

export interface GrantsContext {
  readonly now: () => number;
  readonly scopeRules: ScopeRules;
}
