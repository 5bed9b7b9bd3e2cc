import * as z from "zod/mini";
import { createCapability } from "../../core/create-capability.ts";
import type { FoundIssuers } from "../../core/options/options.ts";
import type { TrustedIssuer } from "../../core/options/trusted-issuer.ts";
import * as values from "../../core/options/values.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { createDirectory } from "./directory.ts";

export type { FoundIssuers } from "../../core/options/options.ts";
export type { TrustedIssuer } from "../../core/options/trusted-issuer.ts";

/** What a service knows about one issuer: an entry of `issuers`, whose `scopes` are required. */
export interface TrustRecord extends TrustedIssuer {
  /** The most that the issuer can grant. It can never grant `adminScope`. */
  readonly scopes: readonly string[];
}

/**
 * Finds the trust record of an issuer by the exact `iss` of a token that isn't verified yet; `undefined` for
 * an unknown issuer. It never receives the token or the request.
 */
export type FindIssuer = (issuer: string) => Pending<TrustRecord | undefined>;

/** How long records are used, and what may be fetched for them. */
export interface IssuersFromOptions {
  /**
   * How long a record is used until it's asked for again, 1 to 86400 seconds. Within this time, a change or a
   * removal takes effect. Default: `60`.
   */
  readonly freshSeconds?: number;
  /**
   * How many records are remembered. Beyond that, the least recently used one is dropped. Default: `1_000`.
   */
  readonly maxIssuers?: number;
  /** How long `find` may take, in milliseconds. Default: `5_000`. */
  readonly timeoutMs?: number;
  /**
   * Allows keys from http URLs of this machine and from private addresses, for development and for issuers
   * inside your network. A record could then make this process send requests there. Default: `false`.
   */
  readonly allowPrivate?: boolean;
}

const rules = {
  freshSeconds: z.exactOptional(values.numberFrom(1, 86_400, "Write a number of seconds from 1 to 86400.")),
  maxIssuers: z.exactOptional(values.integerFrom(1, 100_000, "Write a whole number from 1 to 100000.")),
  timeoutMs: z.exactOptional(
    values.integerFrom(1, 60_000, "Write a whole number of milliseconds, 1 to 60000."),
  ),
  allowPrivate: z.exactOptional(values.flag),
};
const find = values.callback(
  "Write a function that takes the `iss` of a token and returns its trust record.",
);
const shape = values.plain(
  z.strictObject({ find, ...rules }),
  "Write issuersFrom(find, { freshSeconds: 60 }), or only issuersFrom(find).",
);

/**
 * Creates the value of the option `issuers` for issuers that are found while the server runs, such as the
 * identity providers of tenants in a database.
 *
 * `find` is called once for concurrent tokens of one issuer, and again after `freshSeconds`. Unknown issuers
 * are remembered for up to 30 seconds, and at most 100 new names at once and 20 more per second are asked
 * for; the tokens of others are rejected with 401. If `find` fails or takes too long, or its record has a
 * mistake, the request is refused with 503; the mistake is a process warning. A record that is removed or
 * changed ends remembered tokens and open connections.
 *
 * A record can't have HS* algorithms. Its keys are fetched from https URLs at public addresses only; a
 * `fetch` of your own in a key source must refuse private addresses by itself.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { callerConditions } from "scopegate/conditions";
 * import { issuersFrom } from "scopegate/issuers";
 * import { remoteKeys } from "scopegate/keys";
 *
 * const tenants = new Map([["https://login.acme.example/", "acme"]]);
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   issuers: issuersFrom(async (issuer) => {
 *     const tenant = tenants.get(issuer);
 *     if (tenant === undefined) return undefined;
 *     const keys = remoteKeys({ discovery: true });
 *     return { issuer, keys, algorithms: ["RS256"], tenant, scopes: ["orgs:read"] };
 *   }),
 *   scopeMappings: {
 *     "* /orgs/:org{/*path}": { scopes: ["orgs:read"], where: { org: { tenant: true } } },
 *   },
 *   conditions: callerConditions(),
 * });
 * ```
 */
export function issuersFrom(find: FindIssuer, options: IssuersFromOptions = {}): FoundIssuers {
  return createCapability<FoundIssuers>({
    option: "issuers",
    written: values.isPlainObject(options) ? { ...options, find } : options,
    shape,
    names: { issuers: Object.keys(rules) },
    create: (context) => createDirectory({ ...DEFAULTS, ...options, ...context, find }),
  });
}

const DEFAULTS = { freshSeconds: 60, maxIssuers: 1_000, timeoutMs: 5_000, allowPrivate: false };
