/** The rules that govern a request. */
import type { Path } from "../request.ts";
import type { Restrictions } from "./restrictions.ts";
import type { LeafMatch } from "./rule-tree.ts";

/** The rules that a request must satisfy together, or why the table refuses it before a token is read. */
export type Governing =
  | GoverningRules
  | {
      readonly kind: "ambiguous";
      readonly matches: readonly [];
      readonly restrictions: Restrictions;
      readonly cause: string;
    };

export interface GoverningRules {
  readonly kind: "rules" | "unmapped";
  /** The narrowest first. If unmapped: empty, or the rules for the mapped paths of a batch. */
  readonly matches: readonly LeafMatch[];
  /** The rules whose conditions apply as well. */
  readonly restrictions: Restrictions;
  /** Whether every router reads the path as one that belongs to the same rule. */
  readonly isExact: boolean;
  readonly path: Path;
  /** Whether an operation of MCP has no rule. */
  readonly isOperation?: true;
  /** Why a request counts as one without a rule; it's refused whatever `unmappedRoutes` is. */
  readonly cause?: string;
}
