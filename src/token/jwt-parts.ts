import { attempt, type Rejection } from "../errors.ts";

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
  readonly payload: string;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

const BASE64URL = /^[\w-]+$/;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

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
export function readJwt(token: string, maxTokenBytes: number): JwtParts | Rejection {
  const mistake = formMistakeOf(token, maxTokenBytes);
  if (mistake) return mistake;
  const [encodedHeader = "", payload = "", signature = ""] = token.split(".");
  const header = readJsonSegment(encodedHeader);
  if (!header || !isCanonicalBase64Url(payload)) return "malformed";
  const [alg, kid, typ] = [ownValue(header, "alg"), ownValue(header, "kid"), ownValue(header, "typ")];
  if (typeof alg !== "string" || !isAbsentOrText(kid) || !isAbsentOrText(typ)) return "malformed";
  // An unsecured JWT has no signature (RFC 7519 section 6): say that its algorithm is refused.
  if (signature === "") return "algorithm";
  // Extensions that must be understood (RFC 7515 section 4.1.11), `b64` (RFC 7797) among them: none is.
  if (!isCanonicalBase64Url(signature) || Object.hasOwn(header, "crit")) return "malformed";
  if (Object.hasOwn(header, "b64")) return "malformed";
  return {
    encoded: token,
    header: { alg, ...(kid !== undefined && { kid }), ...(typ !== undefined && { typ }) },
    payload,
  };
}

/**
 * A segment that holds a JSON object, or `undefined`: also for bytes that are no UTF-8, for a byte order mark and for
 * a member that occurs twice, all of which other parsers read as something else (RFC 8725 section 2.4).
 */
export function readJsonSegment(segment: string): Readonly<Record<string, unknown>> | undefined {
  if (!isCanonicalBase64Url(segment)) return undefined;
  const text = attempt(() => DECODER.decode(Buffer.from(segment, "base64url")));
  const value = text === undefined ? undefined : attempt((): unknown => JSON.parse(text));
  if (text === undefined || !isObject(value) || countMembers(value) !== countColons(text)) return undefined;
  return value;
}

/** Base64url without padding whose unused bits are zero: one token has one spelling (RFC 4648 section 3.5). */
function isCanonicalBase64Url(text: string): boolean {
  if (!BASE64URL.test(text) || text.length % 4 === 1) return false;
  const last = text.slice(-1);
  if (text.length % 4 === 2) return "AQgw".includes(last);
  return text.length % 4 === 0 || "AEIMQUYcgkosw048".includes(last);
}

/** Every colon outside a string of a JSON text stands for one member; parsing keeps one of two that are spelled alike. */
function countColons(json: string): number {
  let colons = 0;
  let isText = false;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) isText = !isText;
    else if (code === BACKSLASH) index += 1;
    else if (code === COLON && !isText) colons += 1;
  }
  return colons;
}

function countMembers(root: object): number {
  let members = 0;
  const pending: object[] = [root];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const values = Object.values(next) as unknown[];
    if (!Array.isArray(next)) members += values.length;
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
