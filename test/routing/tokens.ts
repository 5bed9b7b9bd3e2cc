import type { ResourceServer, ScopeMappings } from "scopegate";
import { createTestIssuer } from "scopegate/testing";
import { createResourceServer } from "../support/server.ts";

const issuer = createTestIssuer({ algorithm: "HS256", audience: "routing" });

/** The server under test. Every key of the table gets the prefix. */
export function createRoutingServer(table: ScopeMappings, prefix: string): ResourceServer {
  const entries = Object.entries(table).map(([key, value]): [string, ScopeMappings["GET /"]] => {
    const [method = "", pattern = ""] = key.split(" ");
    return [`${method} ${prefix}${prefix !== "" && pattern === "/" ? "" : pattern}`, value];
  });
  return createResourceServer({
    ...issuer.resourceServerOptions,
    scopeMappings: Object.fromEntries(entries),
  });
}

const tokens = new Map<string, Promise<string>>();

/** A token with exactly these scopes. Tokens are cached. */
export function tokenWith(scopes: readonly string[]): Promise<string> {
  const key = scopes.join(" ");
  const token = tokens.get(key) ?? issuer.token({ claims: { scopes, exp: undefined } });
  tokens.set(key, token);
  return token;
}
