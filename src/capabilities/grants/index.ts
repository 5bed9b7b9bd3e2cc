import * as z from "zod/mini";
import { createCapability } from "../../core/create-capability.ts";
import * as values from "../../core/options/values.ts";
import type { Grants } from "../../core/token/grants.ts";
import { createGrants, type GrantsFor } from "./grants.ts";

export type { GrantsFor } from "./grants.ts";
export type { Grants } from "../../core/token/grants.ts";

/** How the scopes of a role store are used. */
export interface GrantsOptions {
  /** How long the scopes of a user are used until they are looked up again, 0 to 3600. Default: `30`. */
  readonly maxAgeSeconds?: number;
}

const rules = {
  maxAgeSeconds: z.optional(values.numberFrom(0, 3600, "Write a number of seconds from 0 to 3600.")),
};
const lookup = values.callback(
  "Write a function that takes { userId, issuer } and returns a promise of an array of scopes.",
);
const shape = values.plain(
  z.strictObject({ lookup, ...rules }),
  "Write grantsFrom(lookup, { maxAgeSeconds: 30 }), or only grantsFrom(lookup).",
);

/**
 * Creates the value of the option `grants`: the scopes that a role store grants to a user, in addition to
 * those of the token. There is one look-up per user at a time. If it throws, returns anything but an array of
 * strings, or takes more than five seconds, the request is refused with 503. An API key gets none.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { grantsFrom } from "scopegate/grants";
 *
 * const scopesOfUser = new Map([["user-1", ["agents:read"]]]);
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /agents": ["agents:read"] },
 *   grants: grantsFrom(async ({ userId }) => scopesOfUser.get(userId ?? "") ?? []),
 * });
 * ```
 */
export function grantsFrom(lookup: GrantsFor, options: GrantsOptions = {}): Grants {
  const { maxAgeSeconds = 30 } = Object.assign(Object.create(null) as GrantsOptions, options);
  return createCapability<Grants>({
    option: "grants",
    written: values.isPlainObject(options) ? { ...options, lookup } : options,
    shape,
    names: { grants: Object.keys(rules) },
    create: (context) => createGrants({ ...context, lookup, maxAgeSeconds }),
  });
}
