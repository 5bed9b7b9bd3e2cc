/** The type of the table. */
import type { TableEntry } from "./table-entry.ts";

/** The methods that Node.js receives, and `*` for every method. */
export type Method =
  | ("*" | "ACL" | "BIND" | "CHECKOUT" | "CONNECT" | "COPY" | "DELETE" | "GET" | "HEAD" | "LINK" | "LOCK")
  | ("M-SEARCH" | "MERGE" | "MKACTIVITY" | "MKCALENDAR" | "MKCOL" | "MOVE" | "NOTIFY" | "OPTIONS" | "PATCH")
  | ("POST" | "PROPFIND" | "PROPPATCH" | "PURGE" | "PUT" | "QUERY" | "REBIND" | "REPORT" | "SEARCH")
  | ("SOURCE" | "SUBSCRIBE" | "TRACE" | "UNBIND" | "UNLINK" | "UNLOCK" | "UNSUBSCRIBE");

/**
 * The table: `METHOD /pattern` to what the route requires. METHOD is upper case, or `*` for every method.
 * With the option `mcp`, also `MCP operation`. If a program composes keys, give them the type of a key. JSON
 * modules have the type `string` for `"public"`: pass such a file to `parseConfiguration`.
 *
 * @example
 * ```ts
 * import type { ScopeMappings } from "scopegate";
 *
 * type Key = keyof ScopeMappings;
 * const table: Record<Key, ScopeMappings[Key]> = { "GET /health": "public" };
 * for (const name of ["agents", "teams"]) {
 *   const key: Key = `GET /${name}/:id`;
 *   table[key] = [`${name}:<id>:read`];
 * }
 * ```
 */
// eslint-disable-next-line @typescript-eslint/consistent-indexed-object-style -- so errors name the type
export type ScopeMappings = { readonly [Key in `${Method} /${string}` | `MCP ${string}`]: TableEntry };
