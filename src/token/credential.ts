import { type AccessRequest, ownProperty } from "../request.ts";

/** Where a request may carry its token. Never in the query, which ends up in logs (RFC 6750 section 5.3). */
export type TokenSource = { readonly header: "authorization" } | { readonly cookie: string };

/** A request's credential. `missing` includes other servers' schemes; `malformed` includes several tokens. */
export type Credential =
  | { readonly kind: "token"; readonly token: string; readonly source: "header" | "cookie" }
  | { readonly kind: "missing" }
  | { readonly kind: "malformed" }
  | { readonly kind: "too_large" };

const MISSING: Credential = { kind: "missing" };
const MALFORMED: Credential = { kind: "malformed" };
const TOO_LARGE: Credential = { kind: "too_large" };

/** RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1). */
const BEARER = "bearer ";
const TOKEN = /^[\w\-.~+/]+=*$/;

/** Credentials of another scheme (RFC 9110 section 11.4): a scheme, and something after it. */
const OTHER_SCHEME = /^[\w!#$%&'*+\-.^`|~]{1,64} {1,64}\S/i;

/** The cookies that a user agent may send besides the token: 50 of 4096 bytes (RFC 6265 section 6.1). */
const MAX_COOKIE_BYTES = 50 * 4096;

/**
 * Reads the credential of a request. Several are malformed even if one is valid: the next hop may read a
 * different one (RFC 6750 section 2). The length is checked before the whole field is read.
 */
export function readCredential(
  request: AccessRequest,
  sources: readonly TokenSource[],
  maxTokenBytes: number,
): Credential {
  let found = MISSING;
  for (const source of sources) {
    const credential =
      "cookie" in source
        ? readCookie(ownProperty(request, "cookie"), source.cookie, maxTokenBytes)
        : readAuthorization(ownProperty(request, "authorization"), maxTokenBytes);
    if (credential.kind === "missing") continue;
    if (found.kind !== "missing") return MALFORMED;
    found = credential;
  }
  return found;
}

function readAuthorization(
  fields: string | readonly string[] | undefined,
  maxTokenBytes: number,
): Credential {
  if (typeof fields === "string") return readField(fields, maxTokenBytes);
  const [field, ...others] = fields ?? [];
  // Even with different schemes: the next hop may read the other field.
  if (others.length > 0) return MALFORMED;
  return field === undefined ? MISSING : readField(field, maxTokenBytes);
}

/** Another scheme than Bearer is not a credential for this server (RFC 6750 section 3.1). */
function readField(field: string, maxTokenBytes: number): Credential {
  const isBearer = field.slice(0, BEARER.length).toLowerCase() === BEARER;
  if (!isBearer) return OTHER_SCHEME.test(field) ? MISSING : MALFORMED;
  if (field.length - BEARER.length > maxTokenBytes) return TOO_LARGE;
  let start = BEARER.length;
  while (field[start] === " ") start += 1;
  const token = field.slice(start);
  return token === "" ? MALFORMED : { kind: "token", token, source: "header" };
}

/**
 * Reports whether a rejected token of the header has the wrong syntax. Called last, because checking every
 * character is slower than finding a cached token, and an accepted token always has the right syntax.
 */
export const isMalformed = ({ token, source }: Extract<Credential, { kind: "token" }>): boolean =>
  source === "header" && !TOKEN.test(token);

/** A second cookie of the same name (RFC 6265 section 4.2.1) may be from an attacker on a sibling domain. */
function readCookie(cookie: string | undefined, name: string, maxTokenBytes: number): Credential {
  if (cookie === undefined) return MISSING;
  if (cookie.length > MAX_COOKIE_BYTES + maxTokenBytes) return TOO_LARGE;
  // Fast path: do not split thousands of other cookies.
  if (!cookie.includes(name)) return MISSING;
  const values = cookie.split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    const hasName = separator >= 0 && pair.slice(0, separator).trim() === name;
    return hasName ? [pair.slice(separator + 1).trim()] : [];
  });
  const [token = "", ...others] = values;
  if (others.length > 0) return MALFORMED;
  // Applications clear a cookie by setting it to an empty value.
  if (token === "") return MISSING;
  return token.length > maxTokenBytes ? TOO_LARGE : { kind: "token", token, source: "cookie" };
}
