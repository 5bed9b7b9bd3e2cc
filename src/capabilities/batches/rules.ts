/** The rules that a batch must satisfy. */
import type { Governing, GoverningRules } from "../../core/policy/governing.ts";
import type { BatchRules } from "../../core/policy/key-language.ts";
import { joinRestrictions } from "../../core/policy/join-restrictions.ts";
import type { Restrictions } from "../../core/policy/restrictions.ts";
import type { LeafMatch } from "../../core/policy/rule-tree.ts";
import { ambiguous, type Table } from "../../core/policy/table.ts";
import { type Path, readPath } from "../../core/request.ts";
import { type Batch, readBatch } from "./batch.ts";

/** Creates the rules for the batches of one server. */
export function createBatchRules(): BatchRules {
  const prefixes = new Set<string>();
  return {
    declare: (prefix) => void prefixes.add(prefix),
    forBatch(path, forPath) {
      const { paths, wider } = readBatch(path, prefixes);
      const mapped = wider.map(forPath).filter(({ kind }) => kind !== "unmapped");
      return joinPaths(path, paths, mapped, forPath);
    },
  };
}

/** Adds the rules for several operations of one request to the rules for its path. */
export function forOperations(
  table: Table,
  pathRules: Governing,
  method: string,
  targets: readonly string[],
): Governing {
  if (pathRules.kind === "ambiguous") return pathRules;
  const forPath = (path: Path) => table.forPath(method, path);
  const joined = joinPaths(pathRules.path, targets.map(readPath), [pathRules], forPath);
  const isUnchanged =
    joined.kind === pathRules.kind &&
    joined.matches.length === pathRules.matches.length &&
    joined.restrictions().active.length === pathRules.restrictions().active.length &&
    joined.restrictions().exempt.length === pathRules.restrictions().exempt.length;
  return isUnchanged ? pathRules : joined;
}

/** Joins the rules for several paths with others. Every path must have a rule, and all must be satisfied. */
function joinPaths(
  path: Path,
  paths: Batch["paths"],
  others: readonly Governing[],
  forPath: (path: Path) => Governing,
): Governing {
  let kind: GoverningRules["kind"] = "rules";
  let isExact = true;
  const matches = new Set<LeafMatch>();
  const parts: Restrictions[] = [];
  const rulesOfPaths = paths.map((joinedPath) => joinedPath && forPath(joinedPath));
  for (const governing of [...rulesOfPaths, ...others]) {
    if (!governing)
      return ambiguous("A name in the batch is empty or can't be read, or the batch is too long.");
    if (governing.kind === "ambiguous") return governing;
    if (governing.kind === "unmapped") kind = "unmapped";
    if (!governing.isExact) isExact = false;
    for (const match of governing.matches) matches.add(match);
    parts.push(governing.restrictions);
  }
  return { kind, matches: [...matches], restrictions: joinRestrictions(parts), isExact, path };
}
