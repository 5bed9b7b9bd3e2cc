import { foldCase } from "../../core/policy/segment.ts";

/**
 * Returns whether an object has a property whose name differs from one of these names only in letter case.
 * Some parsers treat both as the same, and some also fold the two Unicode letters that become `s` and `k`.
 */
export function hasOtherSpelling(object: object, names: ReadonlySet<string>): boolean {
  for (const key of Object.keys(object)) {
    if (names.has(key)) continue;
    for (const name of names) if (name.length === key.length && foldCase(name) === foldCase(key)) return true;
  }
  return false;
}
