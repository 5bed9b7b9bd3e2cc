/** A claim's name, or the path to it through nested objects: `["realm_access", "roles"]`. */
export type ClaimPath = string | readonly string[];

/** Finds a claim by name or path. Own properties only, so that a polluted prototype grants nothing. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  if (typeof path === "string") return Object.hasOwn(claims, path) ? claims[path] : undefined;
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

export const claimNameOf = (path: ClaimPath): string => (typeof path === "string" ? path : path.join("."));

export const isOptionalString = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";
