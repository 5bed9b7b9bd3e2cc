/** The shape of the option `senderConstraint`. */
import * as z from "zod/mini";
import { ALGORITHMS, isSymmetric } from "../../core/keys/algorithm.ts";
import { isSecureUrl } from "../../core/keys/secure-url.ts";
import * as values from "../../core/options/values.ts";
import { isAddressRange } from "./client-certificate.ts";

const ORIGIN =
  "Write an origin such as https://api.example: https (http only for this machine), in lower case, without a path, a default port and `*`.";
const isOrigin = (url: string): boolean =>
  isSecureUrl(url) && new URL(url).origin === url && !url.includes("*");
const ORIGINS = `Write an array of at least one origin. ${ORIGIN}`;
const PROOF_ALGORITHMS = ALGORITHMS.filter((name) => !isSymmetric(name));
const PROOF_ALGORITHM = `Write one of ${PROOF_ALGORITHMS.join(", ")}: a proof is never signed with a shared secret.`;
const NONCE = "Write true, or { secret, lifetimeSeconds }.";
const SECRET = "Write a string of at least 32 random characters, or an array of them.";
const secret = z.string({ error: SECRET }).check(z.minLength(32, { error: SECRET }));
const nonce = {
  secret: z.exactOptional(z.union([secret, values.nonEmptyArray(secret, SECRET)], { error: SECRET })),
  lifetimeSeconds: z.exactOptional(
    values.integerFrom(1, 86_400, "Write a whole number of seconds, 1 to 86400."),
  ),
};
const dpop = {
  origins: values.nonEmptyArray(z.string({ error: ORIGIN }).check(z.refine(isOrigin)), ORIGINS),
  algorithms: z.exactOptional(
    values.nonEmptyArray(
      z.enum(PROOF_ALGORITHMS, { error: PROOF_ALGORITHM }),
      "Write an array of at least one algorithm.",
    ),
  ),
  windowSeconds: z.exactOptional(values.integerFrom(1, 3600, "Write a whole number of seconds, 1 to 3600.")),
  nonce: z.exactOptional(z.union([z.boolean(), z.strictObject(nonce)], { error: NONCE })),
  replay: z.exactOptional(
    values.objectWith(
      ["get", "set", "delete"],
      "Write a store of scopegate/store, such as redisStore(client).",
    ),
  ),
};
const FROM =
  'Write "socket", or { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"] } for the field that a proxy sets.';
const TRUSTED = 'Write an array of addresses such as ["10.0.0.0/8"], or a function that takes the socket.';
const certificateHeader = {
  header: z.string({ error: FROM }).check(
    z.regex(/^[a-z\d!#$%&'*+\-.^_`|~]+$/, { error: FROM }),
    z.refine((name) => !["authorization", "cookie", "dpop"].includes(name), { error: FROM }),
  ),
  format: z.enum(["rfc9440", "pem-urlencoded", "xfcc"], {
    error: 'Write "rfc9440", "pem-urlencoded" or "xfcc".',
  }),
  trusted: z.union(
    [
      values.nonEmptyArray(z.string().check(z.refine(isAddressRange, { error: TRUSTED })), TRUSTED),
      values.callback(TRUSTED),
    ],
    { error: TRUSTED },
  ),
};
const mtls = {
  from: z.union([z.literal("socket"), z.strictObject(certificateHeader)], { error: FROM }),
};
const SENDER_CONSTRAINT = "Write { dpop: { origins } }, { mtls: { from } }, or both.";
const senderConstraint = {
  dpop: z.exactOptional(values.plain(z.strictObject(dpop), 'Write { origins: ["https://api.example"] }.')),
  mtls: z.exactOptional(values.plain(z.strictObject(mtls), 'Write { from: "socket" }.')),
  required: z.exactOptional(values.flag),
};

export const shape = values.plain(
  z.strictObject(senderConstraint).check(
    z.refine((option) => option.dpop !== undefined || option.mtls !== undefined, {
      error: SENDER_CONSTRAINT,
    }),
  ),
  SENDER_CONSTRAINT,
);

/** The names of options, by the name of the object that has them. */
export const SENDER_CONSTRAINT_NAMES: Readonly<Record<string, readonly string[]>> = {
  senderConstraint: Object.keys(senderConstraint),
  dpop: Object.keys(dpop),
  nonce: Object.keys(nonce),
  mtls: Object.keys(mtls),
  from: Object.keys(certificateHeader),
};
