import { orUndefined } from "../../core/errors.ts";
import { isRole, type PageRole } from "../page/page-data.ts";
import { requireGrantable } from "../testing/mistakes.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";
import { readJson } from "./files.ts";

/** What each role is granted. */
type Roles = Readonly<Record<string, PageRole>>;

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

const WITH_CLAIMS = '{ "scopes": ["agents:read"], "claims": { "org_id": "acme" } }';

function findMistakes(role: unknown): readonly string[] {
  if (!isRole(role))
    return [`must be an array of scopes or "anonymous", or have claims or a tenant: ${WITH_CLAIMS}.`];
  if (role === "anonymous") return [];
  const { scopes } = "scopes" in role ? role : { scopes: role };
  if (scopes.some((scope) => scope.includes(",")))
    return ['has a comma in a scope: write ["orders:read", "reports:read"].'];
  const granted = orUndefined(() => (requireGrantable("role", scopes), scopes));
  return granted ? [] : ["has a scope that grants nothing: write `resource:action` or `resource:id:action`."];
}
