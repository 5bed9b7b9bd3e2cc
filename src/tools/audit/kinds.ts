import type { AuditFinding } from "./report.ts";

/** Every finding, with one sentence. The guide "Prove that every route has a rule" has the same list. */
export const FINDING_KINDS: Readonly<Record<AuditFinding["kind"], string>> = {
  route_unmapped: "No rule covers the route.",
  route_partly_mapped: "Rules cover only some of its paths or methods.",
  route_unreadable: "Its pattern can't be compared, such as a regular expression.",
  route_unguarded: "`protect` doesn't run before it, and it isn't public.",
  guard_missing: "No `protect` was found, and some routes aren't public.",
  routes_missing: "No routes were passed.",
  rule_unreached: "No route reaches the rule, often because it's misspelled.",
  rule_argument_unknown:
    "A scope or condition names an argument that the MCP operation doesn't have, so callers could send any value.",
  scopes_differ: "The code of an MCP operation declares other scopes than its rule.",
  route_differs: "The `route` of a handler is missing, or is that of another one.",
  rewrite_weaker: "A rewrite, or a final `.rsc`, opens routes by a path whose rule requires less.",
  public_catch_all: "A public or optional rule for every path makes forgotten routes public.",
  route_hidden: "An earlier, wider route handles its requests, such as `/stores/:id` before `/stores/me`.",
  cors_after_guard: "CORS middleware runs after `protect`, which refuses preflights.",
  argument_of_path:
    "An MCP operation has an argument with the name of a parameter of the transport's path, and rules read the path's.",
  wider_rule_weaker: "A wider rule decides requests beside a narrower rule, and requires less.",
  scope_unbound: "A parameter that should limit the caller doesn't.",
  scope_literal_id: "The second of three parts of a scope looks like an id, but may not be one.",
  scope_covers_items: "The scope that creates an item also changes the items of others.",
  where_missing: "Other rules compare the parameter after the same text with a claim, and this one doesn't.",
  where_fixed_text: "A fixed text is at the place of a parameter that `where` compares with a claim.",
  claim_spelling: "Two rules spell the claim of one parameter differently.",
  exception_wide: "`except` or `unless` lifts conditions for more requests than intended.",
  override_weaker: "A rule allows callers whom the replaced rule of the base table doesn't allow.",
  authorization_off: "`authorization` is `false`.",
  rule_argument_type:
    "A rule names an argument of an MCP operation that is neither a string nor an integer: calls with it fail.",
  operations_missing: "The table has rules for MCP operations, but no operation was passed.",
  rule_overridden: "A rule requires less than the base table for a part of its paths.",
  collection_unfiltered: "A handler must filter its list by a claim.",
  scopes_unknown: "The `scopeChallenge` of an MCP operation reads arguments: compare its scopes yourself.",
  not_audited: "The audit doesn't read this part of a Next.js application.",
};
