/**
 * The grammar of scopes, and which scope covers which. A scope is a scope-token (RFC 6749 section 3.3).
 * `resource:action` and `resource:<id>:action` have structure. Any other scope is opaque, and covers only
 * itself. A URI is opaque too: `urn:example:read` isn't `read` for the id `example`.
 */

/** How a granted scope satisfied a required scope. */
export type SatisfiedBy = "exact" | "wildcard" | "resource-wide" | "some-ids" | "implied" | "admin";

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Returns whether a string is a scope-token: printable ASCII without spaces, quotes and backslashes. */
export const isScopeToken = (value: string): boolean => SCOPE_TOKEN.test(value);

/** Splits a scope into its parts; a URI is one part. A scope with an empty part grants nothing. */
export const splitScope = (scope: string): readonly string[] => (isUri(scope) ? [scope] : scope.split(":"));

const isUri = (scope: string): boolean => scope.startsWith("urn:") || scope.includes("://");

/** Returns whether a token can be granted a scope. */
export const isScope = (value: string): boolean => isScopeToken(value) && !splitScope(value).includes("");

/** A structured scope. Without an id it covers the whole resource. */
interface Structure {
  readonly resource: string;
  readonly id: string | undefined;
  readonly action: string;
}

export function structureOf(parts: readonly string[]): Structure | undefined {
  const [resource, second, third] = parts;
  if (resource === undefined || second === undefined || parts.length > 3) return undefined;
  return third === undefined
    ? { resource, id: undefined, action: second }
    : { resource, id: second, action: third };
}

/** Returns whether a string can be a part of a granted scope. An id with a colon would be several parts. */
export const isScopePart = (value: string): boolean => isScopeToken(value) && !value.includes(":");

/** Reads `agents:*:read` as `agents:read`, which covers the same, and every other scope as it is. */
export function normalizeScope(scope: string): string {
  const structure = structureOf(splitScope(scope));
  return structure?.id === "*" ? `${structure.resource}:${structure.action}` : scope;
}

/** A scope that covers a required scope, and how. By `some-ids`, the scope with any id does. */
export interface Covering {
  readonly text: string;
  readonly by: SatisfiedBy;
}

/** Returns the scopes that cover a required scope, by its parts; none if no scope can have these parts. */
export function coveringOf(parts: readonly string[]): readonly Covering[] {
  const structure = structureOf(parts);
  // Joined, a part with a colon would become several: an id `web:run` must not become an action.
  if (!structure) {
    const isScope = parts.every((part) => isScopePart(part) || (isUri(part) && isScopeToken(part)));
    return isScope ? [{ text: parts.join(":"), by: "exact" }] : [];
  }
  const { resource, id, action } = structure;
  if (resource.includes(":") || action.includes(":")) return [];
  const whole = `${resource}:${action}`;
  if (id === undefined) return [{ text: whole, by: "exact" }];
  const wider: Covering = { text: whole, by: "resource-wide" };
  if (id === "*" || id.includes(":")) return [wider];
  return [{ text: `${resource}:${id}:${action}`, by: "exact" }, wider];
}
