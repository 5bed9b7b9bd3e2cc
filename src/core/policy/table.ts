/** Which rules a request must satisfy: the rule of its path, and the rule of the route that runs for it. */
import { hasTrailingSlash, type Path, readPath } from "../request.ts";
import { type Batch, readBatch } from "./batch.ts";
import { type CompiledTable } from "./compile-rules.ts";
import { findMountedRules } from "./find-mounted-rules.ts";
import { collectReadings, findPathRule, findRouteRule, MAX_RULES } from "./find-rules.ts";
import { findOperationMistake, isNamed, methodOf, type Operation, type OperationRules } from "./operation.ts";
import { identityOf } from "./pattern.ts";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { comparable, ComparablePath, type ComparableRoute, parseRoutePattern } from "./route-fit.ts";
import { type CompiledRule } from "./rule.ts";
import { type Leaf, type LeafMatch, matchOf, matchesOf, type RuleTree } from "./rule-tree.ts";

/** The rules that a request must satisfy together, or why the table refuses it before a token is read. */
export type Governing =
  | {
      readonly kind: "rules" | "unmapped";
      /** The narrowest first. If unmapped, empty, or the rules of the mapped paths of a batch. */
      readonly matches: readonly LeafMatch[];
      /** Whether every router reads the path as a path of the same rule. */
      readonly isExact: boolean;
      readonly path: Path;
      /** Whether an operation of MCP has no rule. */
      readonly isOperation?: true;
    }
  | { readonly kind: "ambiguous"; readonly matches: readonly []; readonly cause: string };

const NONE: readonly [] = [];
const NO_PATH: Path = { text: "/", end: 0, isPlain: true };

/**
 * How much is remembered of the patterns of routes. A framework has a few thousand at most. A program may
 * also build patterns from requests, and these must not fill the memory.
 */
const MAX_PATTERNS = 10_000;
const MAX_PATTERN_BYTES = 512 * 1024;

/** Estimates of what a pattern takes beside its text, and each of its segments. */
const PATTERN_BYTES = 200;
const SEGMENT_BYTES = 60;

/** How a route that is about to run is written. */
export type RoutePattern = string | MountedPattern;

/** A pattern below a mount that is known only as the request spells it. */
export interface MountedPattern {
  /** The beginning of the path, from its first slash on, without a slash at the end. */
  readonly mount: string;
  /** The pattern of the route below the mount. */
  readonly pattern: string;
  /**
   * Whether the application writes the mount in the same way. If not, it may have any pattern that matches
   * the request, and every rule that may cover the route must be satisfied.
   */
  readonly isAsWritten: boolean;
}

/** One alternative of a pattern. */
interface RouteAlternative extends ComparableRoute {
  /** The narrowest rule that covers all of it, by method; `undefined` if no rule does. */
  readonly covering: Map<string, Leaf | undefined>;
  readonly identity: string;
}

/** A route that a request belongs to. */
interface FittingRoute {
  /** The narrowest rule that covers it; below an unknown mount, every rule that may be the narrowest. */
  readonly leaves: readonly Leaf[];
  /** The path, as read by a router that matches it to the route. */
  readonly read: Path;
}

export class Table {
  readonly #tree: RuleTree;
  readonly #operations: OperationRules;
  readonly #patterns = new BoundedMap<string, readonly RouteAlternative[]>(MAX_PATTERNS, MAX_PATTERN_BYTES);
  readonly #batchPrefixes = new Set<string>();

  constructor({ tree, operations }: Pick<CompiledTable, "tree" | "operations">) {
    this.#tree = tree;
    this.#operations = operations;
  }

  /** Returns the rules of a target. If no route will be checked, an inexact path is refused. */
  forTarget(method: string, target: string, isRouteChecked: boolean): Governing {
    const path = readPath(target);
    if (!path) return ambiguous("The target can be read in more than one way.");
    // Most targets have no query, and so no batch.
    const batch = path.text === target ? undefined : readBatch(target, path, this.#batchPrefixes);
    const found = batch ? this.#forBatch(method, path, batch) : this.#forPath(method, path);
    if (isRouteChecked || found.kind === "ambiguous" || found.isExact) return found;
    return ambiguous("The path is not spelled as the table spells it.");
  }

  /** Under this prefix the names of a batch decide, because no other handler reads its path. */
  declareBatches(prefix: string): void {
    this.#batchPrefixes.add(prefix);
  }

  /** Adds the rules of several operations of one request to `found`, the rules of its path. */
  forOperations(found: Governing, method: string, targets: readonly string[]): Governing {
    if (found.kind === "ambiguous") return found;
    const joined = this.#join(found.path, method, targets.map(readPath), [found]);
    const isKnown = joined.kind === found.kind && joined.matches.length === found.matches.length;
    return isKnown ? found : joined;
  }

  /** Adds the rules of the operations that the body of a request calls to `found`, the rules of its path. */
  forCalls(found: Governing, calls: readonly Operation[]): Governing {
    if (found.kind === "ambiguous" || calls.length === 0) return found;
    const matches = [...found.matches];
    let isUnmapped = false;
    for (const call of calls) {
      const match = this.#operations.match(call);
      if (match && "unusable" in match)
        return ambiguous(`A scope needs the argument \`${match.unusable}\` as a non-empty string.`);
      if (match) matches.push(match);
      else isUnmapped = true;
    }
    return isUnmapped ? { ...found, kind: "unmapped", matches, isOperation: true } : { ...found, matches };
  }

  /** Returns the rules of one operation, for a program that has no HTTP request. */
  forOperation(call: Operation): Governing {
    const method = methodOf(call.text);
    // Without a name, the rule of every name must not decide. The rule of the transport decides housekeeping.
    const isWhole = isNamed(method) === call.text.length > method.length + 1;
    const mistake = isWhole ? undefined : findOperationMistake(call.text);
    if (mistake) return ambiguous(`${mistake.message} ${mistake.hint}`);
    return this.forCalls({ kind: "rules", matches: NONE, isExact: true, path: NO_PATH }, [call]);
  }

  #forBatch(method: string, path: Path, { paths, wider }: Batch): Governing {
    const others = wider.map((one) => this.#forPath(method, one));
    const mapped = others.filter(({ kind }) => kind !== "unmapped");
    return this.#join(path, method, paths, mapped);
  }

  /** Every path must be mapped, and every rule satisfied. */
  #join(path: Path, method: string, paths: Batch["paths"], others: readonly Governing[]): Governing {
    const joined = { kind: "rules" as "rules" | "unmapped", isExact: true };
    const matches = new Set<LeafMatch>();
    const own = paths.map((one) => one && this.#forPath(method, one));
    for (const one of [...own, ...others]) {
      if (!one) return ambiguous("A name in the batch is empty or cannot be read, or the batch is too long.");
      if (one.kind === "ambiguous") return one;
      if (one.kind === "unmapped") joined.kind = one.kind;
      joined.isExact &&= one.isExact;
      for (const match of one.matches) matches.add(match);
    }
    return { ...joined, matches: [...matches], path };
  }

  #forPath(method: string, path: Path): Governing {
    const { leaf: narrowest, isExact, isSpelled } = findPathRule(this.#tree, method, path);
    if (!narrowest) return { kind: "unmapped", matches: NONE, isExact: true, path };
    if (isExact) return { kind: "rules", matches: matchesOf(narrowest, path), isExact, path };
    const { leaves, isMapped } = collectReadings(this.#tree, method, path);
    // Without a slash of its own, no router reads the path as another one: `/docs` below `/docs/{*path}`.
    if (isSpelled && leaves.size === 1 && !hasTrailingSlash(path))
      return { kind: "rules", matches: matchesOf(narrowest, path), isExact: true, path };
    if (!isMapped) return ambiguous("The path matches a rule only after it is decoded.");
    if (leaves.size > MAX_RULES) return ambiguous(`More than ${MAX_RULES} rules may apply to the path.`);
    const matches = [...leaves].map((leaf) => matchOf(leaf, path));
    // A slash does not make another route, so a public page is served with and without it.
    if (!isSpelled && matches.every(({ compiled }) => isOpen(compiled)))
      return ambiguous("The rule needs no token, and the path is not spelled as the table spells it.");
    return { kind: "rules", matches, isExact: false, path };
  }

  /** Adds the rules of a route, which has one pattern per mount, to `found`, the rules of the path. */
  forRoute(found: Governing, method: string, patterns: readonly RoutePattern[] | undefined): Governing {
    if (found.kind === "ambiguous") return found;
    if (!patterns) return ambiguous("The route does not match the request any more.");
    if (patterns.length === 1 && this.#isRouteOf(found, method, patterns[0])) return found;
    const { path, matches, isExact } = found;
    const compared = new ComparablePath(path);
    const fitting: FittingRoute[] = [];
    let hasUnreadable = false;
    let hasReadable = false;
    for (const pattern of patterns) {
      const mounted = typeof pattern === "string" ? { mount: "", pattern, isAsWritten: true } : pattern;
      const alternatives = this.#alternatives(mounted.pattern);
      if (alternatives.length === 0) hasUnreadable = true;
      else hasReadable = true;
      for (const alternative of alternatives) {
        const fit = this.#fit(alternative, mounted, compared, method);
        if (fit) fitting.push(fit);
      }
    }
    if (hasReadable && fitting.length === 0)
      return ambiguous("The path does not fit the route that the router chose.");
    const isUncovered = hasUnreadable || fitting.some(({ leaves }) => leaves.length === 0);
    if (isUncovered && !isExact)
      return ambiguous("No rule covers the route, and the path is not spelled as the table spells it.");
    const added = new Map<CompiledRule, LeafMatch>();
    for (const { leaves, read } of fitting) {
      if (leaves.length === 0) continue;
      // With an empty last segment, the path may reach a narrower rule than that of the route.
      const readings = read === path ? [] : collectReadings(this.#tree, method, read).leaves;
      for (const leaf of [...leaves, ...readings])
        if (!matches.some(({ compiled }) => compiled === leaf.compiled))
          added.set(leaf.compiled, matchOf(leaf, read));
    }
    if (added.size === 0) return found;
    const kind = matches.length > 0 ? found.kind : "rules";
    return { kind, matches: [...matches, ...added.values()], isExact, path };
  }

  /** Fast path for most requests: an exact path, and a route with the pattern of its narrowest rule. */
  #isRouteOf(found: Governing, method: string, pattern: RoutePattern | undefined): boolean {
    if (found.kind !== "rules" || !found.isExact || typeof pattern !== "string") return false;
    const [route, other] = this.#alternatives(pattern);
    const leaf = route && this.#coveringOf(route, method);
    if (!leaf || other) return false;
    // An exact path of the rule fits the route too, because both have the same pattern.
    return leaf.identity === route.identity && leaf === found.matches[0]?.leaf;
  }

  /** Returns the rules that cover an alternative below a mount; `undefined` if the path does not fit it. */
  #fit(
    alternative: RouteAlternative,
    { mount, isAsWritten }: Omit<MountedPattern, "pattern">,
    compared: ComparablePath,
    method: string,
  ): FittingRoute | undefined {
    const above = compared.segmentsBelow(mount);
    const read = above && compared.readAt(alternative, above.length);
    if (!read) return undefined;
    const toFit = (leaf: Leaf | undefined): FittingRoute => ({ leaves: leaf ? [leaf] : [], read });
    if (mount === "") return toFit(this.#coveringOf(alternative, method));
    // What a request says is never compiled to a pattern or remembered: it is compared as it is.
    const segments = [...above, ...alternative.segments];
    if (isAsWritten) return toFit(findRouteRule(this.#tree, method, segments));
    return { leaves: findMountedRules(this.#tree, method, segments, above.length), read };
  }

  #coveringOf({ covering, segments }: RouteAlternative, method: string): Leaf | undefined {
    // A client may invent methods, but only those of the table have rules of their own.
    const asked = this.#tree.ruledMethod(method);
    let leaf = covering.get(asked);
    if (leaf === undefined && !covering.has(asked)) {
      leaf = findRouteRule(this.#tree, asked, segments);
      covering.set(asked, leaf);
    }
    return leaf;
  }

  /** Returns the alternatives of a pattern; empty for an unreadable one, such as a regular expression. */
  #alternatives(pattern: string): readonly RouteAlternative[] {
    const known = this.#patterns.get(pattern);
    if (known) return known;
    const alternatives = (parseRoutePattern(pattern)?.alternatives ?? []).map(
      ({ segments }): RouteAlternative => ({
        ...comparable(segments),
        covering: new Map(),
        identity: identityOf(segments),
      }),
    );
    const segments = alternatives.reduce((count, one) => count + one.segments.length, 0);
    const exclusive = PATTERN_BYTES + pattern.length * 4 + SEGMENT_BYTES * segments;
    this.#patterns.set(pattern, alternatives, { exclusive });
    return alternatives;
  }
}

const ambiguous = (cause: string): Governing => ({ kind: "ambiguous", matches: NONE, cause });

const isOpen = ({ requirement: { kind } }: CompiledRule): boolean => kind === "public" || kind === "optional";
