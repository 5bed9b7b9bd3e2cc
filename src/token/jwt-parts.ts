import { attempt, type Rejection } from "../errors.ts";
import { BoundedMap } from "../runtime/bounded-map.ts";

/** The header parameters that a verifier may look at before the signature is checked (RFC 7515 section 4.1). */
export interface JoseHeader {
  readonly alg: string;
  readonly kid?: string;
  readonly typ?: string;
}

/** A compact JWS cut into its parts, with its header read. The payload is still unread: nothing vouches for it yet. */
export interface JwtParts {
  /** The whole token as it was sent. */
  readonly encoded: string;
  readonly header: JoseHeader;
  /** Canonical base64url, so much is known. */
  readonly payload: string;
}

/** All tokens of a key begin with the same header: it is read once. Longer ones and more of them are no issuer's. */
const MAX_HEADERS = 100;
const MAX_REMEMBERED_HEADER = 1_000;
const headers = new BoundedMap<string, JoseHeader>(MAX_HEADERS);

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** Its first byte in UTF-8; no JSON text begins with it. */
const BYTE_ORDER_MARK = 0xef;

const BASE64URL = /^[\w-]+$/;
const DECODER = new TextDecoder("utf-8", { fatal: true });

/** What is wrong with the form of a token, told from its length and its dots alone. */
export function formMistakeOf(
  token: string,
  maxTokenBytes: number,
): Extract<Rejection, "malformed" | "too_large"> | undefined {
  // A program may hand over what a client left out.
  if (typeof (token as unknown) !== "string") return "malformed";
  if (token.length > maxTokenBytes) return "too_large";
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  return first > 0 && second > first + 1 && !token.includes(".", second + 1) ? undefined : "malformed";
}

/** Cuts a token and reads its header, or says why it is refused before any key is touched. */
export function readJwt(token: string): JwtParts | Extract<Rejection, "malformed" | "algorithm"> {
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (second <= first) return "malformed";
  const encodedHeader = token.slice(0, first);
  const payload = token.slice(first + 1, second);
  const signature = token.slice(second + 1);
  const header = headers.get(encodedHeader) ?? readHeader(encodedHeader);
  if (!header || !isCanonicalBase64Url(payload)) return "malformed";
  // An unsecured JWT has no signature (RFC 7519 section 6): say that its algorithm is refused.
  if (signature === "") return "algorithm";
  return isCanonicalBase64Url(signature) ? { encoded: token, header, payload } : "malformed";
}

function readHeader(segment: string): JoseHeader | undefined {
  const members = isCanonicalBase64Url(segment) ? readJsonSegment(segment) : undefined;
  if (!members) return undefined;
  const [alg, kid, typ] = [ownValue(members, "alg"), ownValue(members, "kid"), ownValue(members, "typ")];
  if (typeof alg !== "string" || !isAbsentOrText(kid) || !isAbsentOrText(typ)) return undefined;
  // Extensions that must be understood (RFC 7515 section 4.1.11), `b64` (RFC 7797) among them: none is.
  if (Object.hasOwn(members, "crit") || Object.hasOwn(members, "b64")) return undefined;
  const header = Object.freeze({ alg, ...(kid !== undefined && { kid }), ...(typ !== undefined && { typ }) });
  if (segment.length <= MAX_REMEMBERED_HEADER) headers.set(copyOf(segment), header);
  return header;
}

/** Text that was cut out of another holds on to the whole of it: a token would be kept with its header. */
const copyOf = (ascii: string): string => Buffer.from(ascii, "latin1").toString("latin1");

/** The JSON object that a segment in canonical base64url holds, or `undefined` where parsers might read another one. */
export function readJsonSegment(segment: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(segment, "base64url");
  const value = attempt((): unknown => JSON.parse(DECODER.decode(bytes)));
  return isObject(value) && isOnlyReading(value, bytes) ? value : undefined;
}

/**
 * Whether an object is all that can be read from its JSON text: not where a byte order mark stands before it, nor where
 * a member occurs twice, of which other parsers may keep the other one (RFC 8725 section 2.4).
 */
export const isOnlyReading = (value: object, json: Buffer): boolean =>
  json[0] !== BYTE_ORDER_MARK && countMembers(value) === countColons(json);

/** Base64url without padding whose unused bits are zero: one token has one spelling (RFC 4648 section 3.5). */
function isCanonicalBase64Url(text: string): boolean {
  if (!BASE64URL.test(text) || text.length % 4 === 1) return false;
  const last = text.slice(-1);
  if (text.length % 4 === 2) return "AQgw".includes(last);
  return text.length % 4 === 0 || "AEIMQUYcgkosw048".includes(last);
}

/** Every colon outside a string of a JSON text stands for one member; parsing keeps one of two that are spelled alike. */
function countColons(json: Buffer): number {
  // Asked for once: the length of a buffer costs as much as one of its bytes.
  const { length } = json;
  let colons = 0;
  for (let index = 0; index < length; index += 1) {
    const byte = json[index];
    if (byte === COLON) colons += 1;
    if (byte !== QUOTE) continue;
    // To the end of the string, which has most of the bytes.
    index += 1;
    while (index < length && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1;
  }
  return colons;
}

function countMembers(root: object): number {
  let members = 0;
  const pending: object[] = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const isList = Array.isArray(next);
    const values = (isList ? next : Object.values(next)) as readonly unknown[];
    if (!isList) members += values.length;
    for (const value of values) if (typeof value === "object" && value !== null) pending.push(value);
  }
  return members;
}

/** Own members only: a polluted prototype must not name a key. */
const ownValue = (header: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(header, name) ? header[name] : undefined;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isAbsentOrText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";
