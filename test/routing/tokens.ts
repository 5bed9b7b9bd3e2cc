import { SignJWT } from "jose";
import { createResourceServer, type ResourceServer, type ScopeMappings } from "scopegate";

const SECRET = "the routing harness shares this secret with itself";
const KEY = new TextEncoder().encode(SECRET);

/** The server under test, with the table below a prefix. */
export function createRoutingServer(table: ScopeMappings, prefix: string): ResourceServer {
  const entries = Object.entries(table).map(([key, value]): [string, ScopeMappings[string]] => {
    const [method = "", pattern = ""] = key.split(" ");
    return [`${method} ${prefix}${prefix !== "" && pattern === "/" ? "" : pattern}`, value];
  });
  return createResourceServer({
    serviceId: "routing",
    algorithm: "HS256",
    verificationKeys: [SECRET],
    defaultScopeMappings: {},
    scopeMappings: Object.fromEntries(entries),
  });
}

const tokens = new Map<string, Promise<string>>();

/** A token with exactly these scopes; each is signed once. */
export function tokenWith(scopes: readonly string[]): Promise<string> {
  const key = scopes.join(" ");
  const token =
    tokens.get(key) ??
    new SignJWT({ scopes, aud: "routing", sub: "user-1" })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .sign(KEY);
  tokens.set(key, token);
  return token;
}
