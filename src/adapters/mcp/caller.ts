/** The caller of an operation, in the form that the official SDK passes to handlers. */
import { scopesOf } from "../../core/policy/requirement.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import { pipelineOf } from "../../core/port.ts";
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import { type AccessRequest, type Path, readPath } from "../../core/request.ts";
import type { RequiredScope } from "../../core/scopes/required-scope.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { clientOf } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";
import { requireRules } from "./rules.ts";

/** `AuthInfo` of the official SDK, of both versions. */
export interface AuthInfo {
  /** The token of the `Authorization` header, hidden from logs; empty for a cookie. Don't send it on. */
  readonly token: string;
  /** The claim `client_id`, `azp` or `cid`; empty if the token has none. */
  readonly clientId: string;
  /** The granted scopes. */
  readonly scopes: string[];
  /** The `exp` claim, in seconds since the epoch. */
  readonly expiresAt?: number;
  /** The identity of the server: `resource.id`. */
  readonly resource?: URL;
  /** The caller, for `mayCall` and for your own checks. */
  readonly extra: { readonly principal: Principal };
}

/** The servers of callers, so that `mayCall` needs no server. */
const servers = new WeakMap<Principal, ResourceServer>();

/** A class with getters: defining a property by itself and creating a URL take a microsecond each. */
export class CallerInfo implements Omit<AuthInfo, "resource"> {
  readonly #server: ResourceServer;
  readonly #request: AccessRequest;
  readonly #raw: object;
  readonly clientId: string;
  readonly scopes: string[];
  declare readonly expiresAt?: number;
  readonly extra: AuthInfo["extra"];

  /** `request` is the one that the guard verified: later code may have changed the header. */
  constructor(server: ResourceServer, principal: Principal, request: AccessRequest, raw: object = request) {
    if (servers.get(principal) !== server) servers.set(principal, server);
    const { claims, scopes, expiresAt } = principal;
    this.#server = server;
    this.#request = request;
    this.#raw = raw;
    this.clientId = clientOf({ claims }) ?? "";
    this.scopes = [...scopes];
    if (expiresAt !== undefined) this.expiresAt = expiresAt;
    this.extra = { principal };
  }

  get token(): string {
    return String(this.#request.authorization ?? "").replace(/^bearer +/i, "");
  }

  /** The server, and the request of the platform, in which the guard keeps its verdict. */
  static guardedOf(info: object | undefined) {
    return info && #raw in info ? { server: info.#server, raw: info.#raw } : undefined;
  }

  /** The path of the request. */
  static pathOf(info: object | undefined): Path | undefined {
    return info && #request in info ? readPath(info.#request.target) : undefined;
  }

  /** A new URL, because a handler may change it. */
  get resource(): URL | undefined {
    const { resource } = this.#server;
    const id = resource?.template ? resource.template.find(this.#request.target)?.id : resource?.id;
    return id === undefined ? undefined : new URL(id);
  }
}

/** What the official SDK passes to handlers. */
export interface HandlerExtra {
  /** In version 1. */
  readonly authInfo?: object | undefined;
  /** In version 2. */
  readonly http?: { readonly authInfo?: object | undefined } | undefined;
}

/** Returns what `protectMcp` passed on to a handler, in either version of the SDK. */
export const infoOf = ({ authInfo, http }: HandlerExtra): object | undefined => authInfo ?? http?.authInfo;

/**
 * Returns the caller of an operation, from its handler's last argument; `undefined` without an `authInfo`.
 * @throws TypeError for anything that `protectMcp` didn't pass on
 */
export function principalOf(extra: HandlerExtra): Principal | undefined {
  const info = infoOf(extra);
  if (info === undefined) return undefined;
  const { principal } = Object((info as Partial<AuthInfo>).extra) as Partial<AuthInfo["extra"]>;
  if (principal && servers.has(principal)) return principal;
  throw new TypeError(
    'principalOf of "scopegate/mcp" takes the last argument of a handler, with the `authInfo` of protectMcp: pass `req.auth` on to the transport unchanged.',
  );
}

/**
 * Reports whether a caller may call an operation, by the table of the server that verified its token. Without
 * `args`, it reports whether there are arguments with which the caller may call it. It calls no hook.
 *
 * @param caller the last argument of a handler; with `principalOf(extra)`, the rules of all `paths` count
 * @param method the JSON-RPC method, such as `tools/call`
 * @param name the tool, prompt or resource; omit it for methods without a name
 * @param args the arguments, which fill the templates of scopes
 * @throws TypeError for a principal that `protectMcp` didn't pass on
 */
export function mayCall(
  caller: Principal | HandlerExtra,
  method: string,
  name?: string,
  args?: Readonly<Record<string, unknown>>,
): boolean {
  const serverOfCaller = servers.get(caller as Principal);
  const principal = serverOfCaller ? (caller as Principal) : principalOf(caller as HandlerExtra);
  const server = serverOfCaller ?? (principal && servers.get(principal));
  const path = serverOfCaller ? undefined : CallerInfo.pathOf(infoOf(caller as HandlerExtra));
  if (server) return isCallable(server, principal, { method, name }, { args, path });
  throw new TypeError("mayCall takes the last argument of a handler that protectMcp guards.");
}

/** What may be known about a call. Without `path`, the rules of all paths count. */
interface CallFacts {
  readonly args?: Readonly<Record<string, unknown>> | undefined;
  readonly path?: Path | undefined;
}

/** Reports the same for the caller of a known server, or for a caller without a token. */
export function isCallable(
  server: ResourceServer,
  principal: Principal | undefined,
  called: Pick<Operation, "method" | "name">,
  { args, path }: CallFacts = {},
): boolean {
  const { policy } = pipelineOf(server);
  const rules = requireRules(server, "mayCall");
  const isAllowed = (parameters: Readonly<Record<string, unknown>>, isPartial: boolean): boolean =>
    policy.decideGoverned(principal, rules.forOperation({ ...called, parameters, isPartial }, path)).allowed;
  if (args) return isAllowed(args, false);
  // Only the ids in granted scopes and the values of claims can make a difference.
  const partial: Operation = { ...called, parameters: {}, isPartial: true };
  const { matches } = rules.forOperation(partial, path);
  const scopes = matches.flatMap(({ compiled }) => scopesOf(compiled.requirement));
  const parts = new Set(["any", ...scopes.flatMap((scope) => idsFor(principal, scope))]);
  const claimed = principal ? claimedArguments(principal, rules.conditionedRules(partial)) : [{}];
  return [...parts].some((part) =>
    claimed.some((values) => isAllowed(new Proxy({}, everyArgument(part, values)), true)),
  );
}

/** Returns the ids for which a caller has a scope. */
function idsFor(principal: Principal | undefined, { template }: RequiredScope): readonly string[] {
  const ids = template && principal?.resourceIds(template.resource, template.action);
  return ids === undefined || ids === "all" ? [] : [...ids].slice(0, MAX_VALUES);
}

/** How many values of one claim are tried. */
const MAX_VALUES = 100;

/** Returns arguments with values of the caller: those of claims for `where`, and granted ids for `also`. */
function claimedArguments(
  principal: Principal,
  conditioned: readonly CompiledRule[],
): readonly Readonly<Record<string, string>>[] {
  const ofWhere = conditioned
    .flatMap(({ rule }) => Object.entries(rule.conditions?.where ?? {}))
    .map(([argument, sources]) => {
      const values = [sources].flat().flatMap((source) => [...principal.values(source)]);
      return [argument, values.slice(0, MAX_VALUES)] as const;
    });
  const ofAlso = conditioned
    .flatMap(({ conditions }) => conditions?.also.scopes ?? [])
    .map((scope) => [scope.template?.parameter ?? "", idsFor(principal, scope)] as const)
    .filter(([, ids]) => ids.length > 0);
  const bindings = [...ofAlso, ...ofWhere];
  const count = Math.max(1, ...bindings.map(([, values]) => values.length));
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(bindings.map(([argument, values]) => [argument, values[index % values.length] ?? ""])),
  );
}

/** Returns one value for every argument, except for the arguments that must have another value. */
function everyArgument(value: string, others: Readonly<Record<string, string>>): ProxyHandler<object> {
  const valueOf = (name: string | symbol): string =>
    typeof name === "string" && Object.hasOwn(others, name) ? (others[name] ?? value) : value;
  return {
    get: (_, name) => valueOf(name),
    getOwnPropertyDescriptor: (_, name) => ({ value: valueOf(name), enumerable: true, configurable: true }),
  };
}
