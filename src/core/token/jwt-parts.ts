import { orUndefined } from "../errors.ts";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { compact } from "../runtime/compact.ts";
import { isObject, isOnlyReading } from "../runtime/json.ts";
import { claimAt, isOptionalString } from "./claim-path.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";

/** The header parameters that may be read before the signature is verified (RFC 7515 section 4.1). */
interface JoseHeader {
  readonly alg: string;
  readonly kid?: string;
  readonly typ?: string;
}

/** A compact JWS, split into its parts. Only the header is parsed, because the payload isn't verified yet. */
export interface JwtParts {
  /** The whole token. */
  readonly encoded: string;
  readonly header: JoseHeader;
  /** Canonical base64url. */
  readonly payload: string;
}

/** Longer headers aren't parsed, because parsing happens before the signature is verified. */
export const MAX_HEADER_LENGTH = 8_192;
/** More than 64 values, or commas in strings: with 900, jose takes a millisecond. Real headers have ten. */
const MANY_VALUES = /^(?:[^,[{]*[,[{]){65}/;

/** Tokens with one key share a header, so headers are cached. Attackers send many, so the cache is small. */
const MAX_HEADERS = 100;
const MAX_REMEMBERED_HEADER = 1_000;
const headers = new BoundedMap<string, JoseHeader>(MAX_HEADERS);

const BASE64URL = /^[\w-]+$/;
const DECODER = new TextDecoder("utf-8", { fatal: true });

/** Checks only the length and the number of segments, which takes constant memory for any input. */
export function findFormMistake(token: string, maxTokenBytes: number): RejectedToken | undefined {
  // Untyped code may pass `undefined`.
  if (typeof (token as unknown) !== "string") return rejectToken("malformed");
  if (token.length > maxTokenBytes) return rejectToken("too_large");
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (first > MAX_HEADER_LENGTH) return rejectToken("too_large");
  const isCompact = first > 0 && second > first + 1 && !token.includes(".", second + 1);
  return isCompact ? undefined : rejectToken("malformed");
}

/** Splits a token and parses its header, or returns why the token is rejected before any key is used. */
export function readJwt(token: string): { readonly kind: "jwt"; readonly jwt: JwtParts } | RejectedToken {
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (second <= first) return rejectToken("malformed");
  const encodedHeader = token.slice(0, first);
  const payload = token.slice(first + 1, second);
  const signature = token.slice(second + 1);
  const header = headers.get(encodedHeader) ?? readHeader(encodedHeader);
  if (!header || !isCanonicalBase64Url(payload)) return rejectToken("malformed");
  // An unsecured JWT has no signature (RFC 7519 section 6).
  if (signature === "") return rejectToken("algorithm");
  if (!isCanonicalBase64Url(signature)) return rejectToken("malformed");
  return { kind: "jwt", jwt: { encoded: token, header, payload } };
}

function readHeader(segment: string): JoseHeader | undefined {
  if (!isCanonicalBase64Url(segment)) return undefined;
  if (MANY_VALUES.test(Buffer.from(segment, "base64url").toString("latin1"))) return undefined;
  const json = readJsonSegment(segment);
  if (!json) return undefined;
  // Read like a claim: a polluted prototype must not set a header parameter.
  const alg = claimAt(json, "alg");
  const kid = claimAt(json, "kid");
  const typ = claimAt(json, "typ");
  if (typeof alg !== "string" || !isOptionalString(kid) || !isOptionalString(typ)) return undefined;
  // Critical extensions (RFC 7515 section 4.1.11) and `b64` (RFC 7797) aren't supported.
  if (Object.hasOwn(json, "crit") || Object.hasOwn(json, "b64")) return undefined;
  const header = Object.freeze(compact({ alg, kid, typ }));
  if (segment.length <= MAX_REMEMBERED_HEADER) headers.set(copyOf(segment), header);
  return header;
}

/** Copies a slice of a token, because the slice itself would keep the whole token in memory. */
export const copyOf = (ascii: string): string => Buffer.from(ascii, "latin1").toString("latin1");

/** Parses the JSON object of a segment; `undefined` if another parser might read a different object. */
export function readJsonSegment(segment: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(segment, "base64url");
  const value = orUndefined((): unknown => JSON.parse(DECODER.decode(bytes)));
  return isObject(value) && isOnlyReading(value, bytes) ? value : undefined;
}

/** Requires unused bits to be zero (RFC 4648 section 3.5), so that one token has only one spelling. */
export function isCanonicalBase64Url(segment: string): boolean {
  if (!BASE64URL.test(segment) || segment.length % 4 === 1) return false;
  const last = segment.slice(-1);
  if (segment.length % 4 === 2) return "AQgw".includes(last);
  return segment.length % 4 === 0 || "AEIMQUYcgkosw048".includes(last);
}
