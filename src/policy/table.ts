/** Which rules a request must satisfy: the rule of its path, and the rule of the route that runs for it. */
import { type Path, readPath } from "../request.ts";
import { type Batch, readBatch } from "./batch.ts";
import { type CompiledTable } from "./compile-rules.ts";
import { findMountedRules } from "./find-mounted-rules.ts";
import { collectReadings, findPathRule, findRouteRule } from "./find-rules.ts";
import { findOperationMistake, isNamed, methodOf, type Operation, type OperationRules } from "./operation.ts";
import { identityOf, type PatternSegment } from "./pattern.ts";
import { parseRoutePattern, readAt } from "./route-fit.ts";
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
    }
  | { readonly kind: "ambiguous"; readonly matches: readonly []; readonly cause: string };

const NONE: readonly [] = [];
const NO_PATH: Path = { text: "/", end: 0, isPlain: true };

/** A path whose spelling reaches more rules is an attack. */
const MAX_RULES = 8;

/** A framework has few patterns; a program that creates new ones must not fill the memory. */
const MAX_ROUTES = 10_000;

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

/** The rules that may be the narrowest one that covers a route; more than one only below an unknown mount. */
interface CoveredRoute {
  readonly segments: readonly PatternSegment[];
  readonly leaves: readonly Leaf[];
}

/** One alternative of a route, with the narrowest rule that covers all of it. */
interface CoveredAlternative {
  readonly segments: readonly PatternSegment[];
  readonly leaf: Leaf | undefined;
  /** Whether rule and route have the same pattern: an exact path of the rule fits the route too. */
  readonly isOwn: boolean;
}

export class Table {
  readonly #tree: RuleTree;
  readonly #operations: OperationRules;
  readonly #routes = new Map<string, Map<string, readonly CoveredAlternative[]>>();
  readonly #batchPrefixes = new Set<string>();
  #routeCount = 0;

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
    let { kind } = found;
    for (const call of calls) {
      const match = this.#operations.match(call);
      if (match && "unusable" in match)
        return ambiguous(`A scope needs the argument \`${match.unusable}\` as a non-empty string.`);
      if (match) matches.push(match);
      else kind = "unmapped";
    }
    return { ...found, kind, matches };
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
    const { leaf: narrowest, isExact } = findPathRule(this.#tree, method, path);
    if (!narrowest) return { kind: "unmapped", matches: NONE, isExact: true, path };
    if (isExact) return { kind: "rules", matches: matchesOf(narrowest, path), isExact, path };
    const { leaves, isMapped } = collectReadings(this.#tree, method, path);
    if (!isMapped) return ambiguous("The path matches a rule only after it is decoded.");
    if (leaves.size > MAX_RULES) return ambiguous(`More than ${MAX_RULES} rules may apply to the path.`);
    const matches = [...leaves].map((leaf) => matchOf(leaf, path));
    if (matches.every(({ compiled }) => isOpen(compiled)))
      return ambiguous("The rule needs no token, and the path is not spelled as the table spells it.");
    return { kind: "rules", matches, isExact: false, path };
  }

  /** Adds the rules of a route, which has one pattern per mount, to `found`, the rules of the path. */
  forRoute(found: Governing, method: string, patterns: readonly RoutePattern[] | undefined): Governing {
    if (found.kind === "ambiguous") return found;
    if (!patterns) return ambiguous("The route does not match the request any more.");
    if (patterns.length === 1 && this.#isRouteOf(found, method, patterns[0])) return found;
    const { path, matches, isExact } = found;
    const routes = patterns.map((pattern) => this.#coveredRoutes(method, pattern));
    const readable = routes.flat();
    const fitting = readable.flatMap(({ segments, leaves }) => {
      const read = readAt(segments, path);
      return read ? [{ leaves, read }] : [];
    });
    if (readable.length > 0 && fitting.length === 0)
      return ambiguous("The path does not fit the route that the router chose.");
    const isUncovered =
      fitting.some(({ leaves }) => leaves.length === 0) || routes.some((one) => one.length === 0);
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
    const [route, other] = this.#alternatives(method, pattern);
    if (!route || other) return false;
    return route.isOwn && route.leaf === found.matches[0]?.leaf;
  }

  /** Remembers nothing about a mount, because the client spells it. */
  #coveredRoutes(method: string, written: RoutePattern): readonly CoveredRoute[] {
    const { mount, pattern, isAsWritten } =
      typeof written === "string" ? { mount: "", pattern: written, isAsWritten: true } : written;
    const alternatives = this.#alternatives(method, pattern);
    if (mount === "")
      return alternatives.map(({ segments, leaf }) => ({ segments, leaves: leaf ? [leaf] : [] }));
    const texts = mount.slice(1).split("/");
    const above = texts.map((text): PatternSegment => ({ kind: "static", text }));
    return alternatives.map((alternative) => {
      const segments = [...above, ...alternative.segments];
      if (!isAsWritten)
        return { segments, leaves: findMountedRules(this.#tree, method, segments, above.length) };
      const leaf = findRouteRule(this.#tree, method, segments);
      return { segments, leaves: leaf ? [leaf] : [] };
    });
  }

  /** Returns the alternatives of a route; empty for an unreadable pattern, such as a regular expression. */
  #alternatives(method: string, pattern: string): readonly CoveredAlternative[] {
    const known = this.#routes.get(pattern)?.get(method);
    if (known) return known;
    if (this.#routeCount >= MAX_ROUTES) {
      this.#routes.clear();
      this.#routeCount = 0;
    }
    const parsed = parseRoutePattern(pattern);
    const alternatives = (parsed?.alternatives ?? []).map(({ segments }): CoveredAlternative => {
      const leaf = findRouteRule(this.#tree, method, segments);
      return { segments, leaf, isOwn: leaf?.identity === identityOf(segments) };
    });
    const byMethod = this.#routes.get(pattern) ?? new Map<string, readonly CoveredAlternative[]>();
    this.#routes.set(pattern, byMethod.set(method, alternatives));
    this.#routeCount += 1;
    return alternatives;
  }
}

const ambiguous = (cause: string): Governing => ({ kind: "ambiguous", matches: NONE, cause });

const isOpen = ({ requirement: { kind } }: CompiledRule): boolean => kind === "public" || kind === "optional";
