import { orUndefined } from "../errors.ts";
import { BoundedMap } from "../runtime/bounded-map.ts";
import { isObject, isOnlyReading } from "../runtime/json.ts";
import { claimAt, isOptionalString } from "./claim-path.ts";
import { type RejectedToken, rejectToken } from "./rejection.ts";

/** The header parameters that may be read before the signature is verified (RFC 7515 section 4.1). */
interface JoseHeader {
  readonly alg: string;
  readonly kid: string | undefined;
  /** The `typ`, in the form that `mediaType` returns. */
  readonly type: string | undefined;
}

/** A compact JWS, split into its parts. Only the header is parsed, because the payload isn't verified yet. */
export interface JwtParts {
  /** The whole token. */
  readonly encoded: string;
  readonly header: JoseHeader;
  /** The decoded payload. Its JSON isn't read yet. */
  readonly payload: Buffer;
}

/** Longer headers aren't parsed, because parsing happens before the signature is verified. */
export const MAX_HEADER_LENGTH = 8_192;
/** More than 64 values, or commas in strings: with 900, jose takes a millisecond. Real headers have ten. */
const MANY_VALUES = /^(?:[^,[{]*[,[{]){65}/;

/** Tokens with one key share a header, so headers are cached. Attackers send many, so the cache is small. */
const MAX_HEADERS = 100;
const MAX_REMEMBERED_HEADER = 1_000;
const headers = new BoundedMap<string, JoseHeader>(MAX_HEADERS);

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

/** Splits a token and parses its header, or returns a rejection. Uses no key. */
export function readJwt(token: string): { readonly kind: "jwt"; readonly jwt: JwtParts } | RejectedToken {
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (second < 0) return rejectToken("malformed");
  const encodedHeader = token.slice(0, first);
  const header = headers.get(encodedHeader) ?? readHeader(encodedHeader);
  const payload = decodeBase64url(token.slice(first + 1, second));
  if (!header || !payload) return rejectToken("malformed");
  const signature = token.slice(second + 1);
  // Without a signature, it's an unsecured JWT (RFC 7519 section 6).
  if (signature === "") return rejectToken("algorithm");
  if (!decodeBase64url(signature)) return rejectToken("malformed");
  return { kind: "jwt", jwt: { encoded: token, header, payload } };
}

function readHeader(segment: string): JoseHeader | undefined {
  const bytes = decodeBase64url(segment);
  if (!bytes || MANY_VALUES.test(bytes.toString("latin1"))) return undefined;
  const json = readJsonBytes(bytes);
  if (!json) return undefined;
  // Read like a claim: a polluted prototype must not set a header parameter.
  const alg = claimAt(json, "alg");
  const kid = claimAt(json, "kid");
  const typ = claimAt(json, "typ");
  if (typeof alg !== "string" || !isOptionalString(kid) || !isOptionalString(typ)) return undefined;
  // Critical extensions (RFC 7515 section 4.1.11) and `b64` (RFC 7797) aren't supported.
  if (Object.hasOwn(json, "crit") || Object.hasOwn(json, "b64")) return undefined;
  const header = Object.freeze({ alg, kid, type: typ && mediaType(typ) });
  if (segment.length <= MAX_REMEMBERED_HEADER) headers.set(copyOf(segment), header);
  return header;
}

/** RFC 7515 section 4.1.9: case-insensitive, and `application/` may be omitted. */
export const mediaType = (type: string): string => type.toLowerCase().replace(/^application\/(?=[^/]*$)/, "");

/** Copies a slice of a token, because the slice itself would keep the whole token in memory. */
export const copyOf = (ascii: string): string => Buffer.from(ascii, "latin1").toString("latin1");

/** Parses the JSON object of a segment; `undefined` if another parser might read a different object. */
export const readJsonSegment = (segment: string) => readJsonBytes(Buffer.from(segment, "base64url"));

export function readJsonBytes(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  const value = orUndefined((): unknown => JSON.parse(DECODER.decode(bytes)));
  return isObject(value) && isOnlyReading(value, bytes) ? value : undefined;
}

/** Decodes base64url; `undefined` unless it's the only spelling of its bytes (RFC 4648 section 3.5). */
export function decodeBase64url(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, "base64url");
  return segment !== "" && bytes.toString("base64url") === segment ? bytes : undefined;
}
