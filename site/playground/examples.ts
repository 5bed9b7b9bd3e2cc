/** The examples of the playground, and how a question becomes a part of an address. */
import type { Question } from "./engine.ts";

export interface Example {
  readonly name: string;
  readonly question: Question;
}

const ORDERS = `"GET /orders": ["orders:read"],
"POST /orders": ["orders:write"],
"GET /stores/:store_id/orders": ["stores:<store_id>:read"],
"GET /health": "public",`;

const TENANTS = `// Every caller stays in its organization.
"* /orgs/:org{/*path}": {
  scopes: [],
  where: { org: { claim: "org_id" } },
},
"GET /orgs/:org/reports": ["reports:read"],`;

const WEBSITE = `// Everybody may read the website.
"GET /{*path}": "public",
"* /admin{/*path}": ["admin:use"],`;

const MISTAKES = `"GET /orders/:id?": ["orders:read"],
"get /stores": ["stores:read"],
"GET /health": ["public"],`;

const withoutClaims = { method: "GET", claims: "" };

export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    name: "Another store",
    question: { ...withoutClaims, table: ORDERS, path: "/stores/oslo/orders", scopes: "stores:berlin:read" },
  },
  {
    name: "No rule",
    question: { ...withoutClaims, table: ORDERS, method: "DELETE", path: "/orders", scopes: "orders:write" },
  },
  {
    name: "Another tenant",
    question: {
      table: TENANTS,
      method: "GET",
      path: "/orgs/globex/reports",
      scopes: "reports:read",
      claims: '{ "org_id": "acme" }',
    },
  },
  {
    name: "A path that routers read differently",
    question: { ...withoutClaims, table: WEBSITE, path: "/Admin/", scopes: null },
  },
  {
    name: "Mistakes in the table",
    question: { ...withoutClaims, table: MISTAKES, path: "/orders/7", scopes: "orders:read" },
  },
];

const PREFIX = "#try=";

/** Writes a question as the last part of an address, which a browser never sends. */
export function fragmentOf(question: Question): string {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const base64 = btoa(String.fromCharCode(...bytes));
  return PREFIX + base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads what `fragmentOf` writes; `undefined` for anything else, such as the anchor of a heading. */
export function readFragment(fragment: string): Question | undefined {
  if (!fragment.startsWith(PREFIX)) return undefined;
  try {
    const base64 = fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isQuestion(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

function isQuestion(value: unknown): value is Question {
  if (typeof value !== "object" || value === null) return false;
  const { table, method, path, scopes, claims } = value as Readonly<Record<keyof Question, unknown>>;
  const texts = [table, method, path, scopes === null ? "" : scopes, claims];
  return texts.every((text) => typeof text === "string") && METHODS.some((known) => known === method);
}
