import { orUndefined } from "../../core/errors.ts";
import { requireGrantable } from "../testing/mistakes.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";
import { readJson } from "./files.ts";

/** The scopes of each role. */
export type Roles = Readonly<Record<string, readonly string[] | "anonymous">>;

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

function findMistakes(scopes: unknown): readonly string[] {
  if (scopes === "anonymous") return [];
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string"))
    return ['must be an array of scopes, ["agents:read"], or "anonymous".'];
  if (scopes.some((scope) => scope.includes(",")))
    return ['has a comma in a scope: write ["orders:read", "reports:read"].'];
  const granted = orUndefined(() => (requireGrantable("role", scopes), scopes));
  return granted ? [] : ["has a scope that grants nothing: write `resource:action` or `resource:id:action`."];
}
