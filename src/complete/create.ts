import { isCapability } from "../core/capability.ts";
import type { ResourceServerOptions as PlainOptions } from "../core/options/options.ts";
import type { TrustedIssuer as PlainIssuer } from "../core/options/trusted-issuer.ts";
import { isPlainObject } from "../core/options/values.ts";
import type { ProtectedResource } from "../core/options/resource.ts";
import type { SenderConstraint } from "../core/options/sender-constraint.ts";
import type { FoundIssuers } from "../core/options/options.ts";
import type { ResourceServer } from "../core/resource-server.ts";
import { createResourceServer as createPlain } from "../core/server.ts";
import { trpcBatches } from "../capabilities/batches/index.ts";
import { callerConditions } from "../capabilities/conditions/index.ts";
import { type Grants, type GrantsFor, grantsFrom } from "../capabilities/grants/index.ts";
import type { Keys } from "../capabilities/keys/index.ts";
import { keysFrom } from "../capabilities/keys/key-source.ts";
import type { KeySource } from "../capabilities/keys/shape.ts";
import { mcpOperations, type McpOperationsOptions } from "../capabilities/mcp-operations/index.ts";
import { protectedResource, type ResourceOptions } from "../capabilities/resource/index.ts";
import { shadowTable, type Shadow, type ShadowOptions } from "../capabilities/shadow/index.ts";
import { senderConstraint, type SenderConstraintOptions } from "../capabilities/sender-constraint/index.ts";

/** One of several issuers. Its keys may be written as plain data. */
export interface TrustedIssuer extends Omit<PlainIssuer, "keys">, Pick<Capabilities, "keys"> {}

/** The options of a resource server with every capability. Each may be written as plain data. */
export interface ResourceServerOptions
  extends Omit<PlainOptions, keyof Capabilities | "issuers">, Capabilities {
  /** Several issuers, each with its own keys and algorithms, or `issuersFrom(find)`, as in `scopegate`. */
  readonly issuers?: readonly TrustedIssuer[] | FoundIssuers;
}

interface Capabilities {
  /**
   * Where the keys come from: `{ jwksUri }`, `{ discovery: true }`, `{ jwksFile }`, `{ jwks }`, or a value of
   * `scopegate/keys`. Can't be combined with `verificationKeys`.
   */
  readonly keys?: KeySource | Keys;
  /** Returns the scopes that a role store grants to a user, or `grantsFrom(lookup)`. Default: none. */
  readonly grants?: GrantsFor | Grants;
  /** The identity of this server for OAuth clients, or `protectedResource(options)`. Default: none. */
  readonly resource?: ResourceOptions | ProtectedResource;
  /** How keys of clients are checked, or `senderConstraint(options)`. Default: bound tokens are refused. */
  readonly senderConstraint?: SenderConstraintOptions | SenderConstraint;
  /** A second table, which enforces nothing, or `shadowTable(options)`. Default: none. */
  readonly shadow?: ShadowOptions | Shadow;
  /** Facts about the MCP server behind `protectMcp`, or `mcpOperations(...)`. Default: it adds no methods. */
  readonly mcp?: McpOperationsOptions | NonNullable<PlainOptions["mcp"]>;
}

/** Creates the value of a capability from what was written, which may have the wrong shape. */
type Creates = Readonly<Record<keyof Capabilities, (written: never) => unknown>>;

const CREATES: Creates = {
  keys: keysFrom,
  grants: grantsFrom,
  senderConstraint,
  resource: protectedResource,
  mcp: mcpOperations,
  shadow: shadowTable,
};

/** The values of options that aren't written. */
const DEFAULTS = { conditions: callerConditions(), mcp: mcpOperations(), batches: trpcBatches() };

/**
 * Creates a resource server with every capability, as `createResourceServer` of `scopegate` does from values.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate/complete";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   issuer: "https://login.example/",
 *   keys: { discovery: true },
 *   scopeMappings: { "GET /agents": ["agents:read"] },
 *   grants: async ({ userId }) => (userId === "user-1" ? ["agents:read"] : []),
 * });
 * ```
 */
export const createResourceServer = (options: ResourceServerOptions): ResourceServer =>
  createPlain(withCapabilities(options));

/** Replaces plain data by values of capabilities, and adds those that need no data. */
export function withCapabilities(options: ResourceServerOptions): PlainOptions {
  const plain = withValues(options);
  if (!isPlainObject(plain)) return plain;
  if (Array.isArray(plain["issuers"])) plain["issuers"] = plain["issuers"].map(withValues);
  for (const [name, value] of Object.entries(DEFAULTS)) if (plain[name] === undefined) plain[name] = value;
  return plain;
}

/** Anything but a plain object is refused by the server. */
function withValues(options: unknown): Record<string, unknown> {
  if (!isPlainObject(options)) return options as Record<string, unknown>;
  // Without a prototype: a polluted one must not set an option.
  const plain = Object.assign(Object.create(null) as Record<string, unknown>, { ...(options as object) });
  for (const [name, create] of Object.entries(CREATES)) {
    const written = plain[name];
    if (written !== undefined && !isCapability(written)) plain[name] = create(written as never);
  }
  return plain;
}
