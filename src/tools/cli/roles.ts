import { orUndefined } from "../../core/errors.ts";
import { isObject } from "../../core/runtime/json.ts";
import type { PageRole } from "../page/index.ts";
import { requireGrantable } from "../testing/mistakes.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";
import { readJson } from "./files.ts";

/** What each role is granted. */
type Roles = Readonly<Record<string, PageRole>>;

/** Reads the file of `--roles`. */
export function readRoles(file: string): Roles {
  const roles = readJson(file);
  const all = Object.entries(roles);
  if (all.length === 0)
    throw new UsageError(`${quote(file)} has no role: write { "reader": ["agents:read"] }.`);
  const mistakes = all.flatMap(([name, scopes]) =>
    findMistakes(scopes).map((mistake) => `${quote(file)}: role ${JSON.stringify(name)} ${mistake}`),
  );
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return roles as Roles;
}

function findMistakes(role: unknown): readonly string[] {
  if (role === "anonymous") return [];
  const { scopes, claims = {}, ...others } = isObject(role) ? role : { scopes: role, claims: {} };
  if (Object.keys(others).length > 0)
    return ['has an unknown property: write { "scopes": ["agents:read"], "claims": { "org_id": "acme" } }.'];
  if (!isObject(claims)) return ['has claims that aren\'t an object: write { "org_id": "acme" }.'];
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string"))
    return ['must be an array of scopes, ["agents:read"], or "anonymous".'];
  if (scopes.some((scope: string) => scope.includes(",")))
    return ['has a comma in a scope: write ["orders:read", "reports:read"].'];
  const granted = orUndefined(() => (requireGrantable("role", scopes), scopes));
  return granted ? [] : ["has a scope that grants nothing: write `resource:action` or `resource:id:action`."];
}
