/** What the adapters share: the decision of a request, remembered for its handlers, and its credential fields. */
import { suggest } from "../errors.ts";
import { type Decision } from "../policy/decision.ts";
import { compileScopeList } from "../policy/requirement.ts";
import { type Principal } from "../principal.ts";
import { type AccessRequest } from "../request.ts";
import { type ResourceServer } from "../resource-server.ts";
import { type Refusal } from "../response/refusal.ts";

/** Node's own request, under every framework's. */
export interface NodeRequest {
  readonly headers: { readonly authorization?: string | undefined; readonly cookie?: string | undefined };
  readonly rawHeaders?: readonly string[];
}

interface Guarded {
  readonly server: ResourceServer;
  readonly request: AccessRequest;
  readonly decision: Decision;
}

/** Keyed by Node's request: a framework's own object may be another one in a mounted application. */
const guarded = new WeakMap<object, Guarded>();

/** Decides a request and remembers the decision; answers with the response of a refusal. */
export async function guard(
  server: ResourceServer,
  raw: NodeRequest,
  request: Omit<AccessRequest, "authorization" | "cookie">,
): Promise<Refusal | undefined> {
  const accessRequest = { ...request, authorization: readAuthorization(raw), cookie: raw.headers.cookie };
  const decision = await server.check(accessRequest);
  guarded.set(raw, { server, request: accessRequest, decision });
  return decision.allowed ? undefined : server.refuse(decision);
}

/** The caller of a guarded request; of a refused one nobody. */
export function findPrincipal(raw: object): Principal | undefined {
  const decision = guarded.get(raw)?.decision;
  return decision?.allowed ? decision.principal : undefined;
}

/** The check of one route for scopes of its own. */
export function createScopeCheck(
  scopes: readonly string[],
): (raw: object, params: AccessRequest["params"]) => Refusal | undefined {
  if (scopes.length === 0)
    throw new TypeError('requireScopes names no scope: write requireScopes("agents:read").');
  compileScopeList(scopes, "any");
  const own = Object.freeze([...scopes]);
  return (raw, params) => {
    const state = guarded.get(raw);
    if (!state)
      throw new Error("requireScopes needs protect(server) in front of it: nobody has read the token.");
    const { server, request } = state;
    const decision = server.checkScopes(state.decision, own, { ...request, params });
    return decision.allowed ? undefined : server.refuse(decision);
  };
}

/**
 * Fails at boot for anything but a resource server. A framework that is handed `protect` itself calls it with its own
 * objects, and would go on without a guard.
 */
export function assertResourceServer(server: unknown): asserts server is ResourceServer {
  const isServer = typeof server === "object" && server !== null && "check" in server && "refuse" in server;
  if (!isServer)
    throw new TypeError("protect takes a resource server: write protect(createResourceServer({ ... })).");
}

/** Fails at boot for a misspelt option: the guard would read paths in another way than its router. */
export function assertOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `protect received unknown option \`${unknown}\`. ${suggest(unknown, known, "It takes none of that name.")}`,
  );
}

/** Node keeps the first of several `Authorization` fields: a proxy in front may have looked at another. */
function readAuthorization({
  headers,
  rawHeaders = [],
}: NodeRequest): string | readonly string[] | undefined {
  if (headers.authorization === undefined) return undefined;
  const fields = rawHeaders.filter((_, index) => isAuthorization(rawHeaders, index));
  return fields.length > 1 ? fields : headers.authorization;
}

const isAuthorization = (rawHeaders: readonly string[], index: number): boolean =>
  index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "authorization";
