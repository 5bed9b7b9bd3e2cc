import { type AccessRequest, ownProperty } from "../request.ts";

/** Where a token may stand in a request. Never the query string: those end up in logs (RFC 6750 section 5.3). */
export type TokenSource = { readonly header: "authorization" } | { readonly cookie: string };

/** What a request carried: one token, nothing that is meant for this server, or something that no token is read from. */
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

/** Credentials of another scheme (RFC 9110 section 11.4): a scheme and something behind it, however long that is. */
const OTHER_SCHEME = /^[\w!#$%&'*+\-.^`|~]{1,64} {1,64}\S/i;

/** What a user agent may send besides the token: 50 cookies of 4096 bytes (RFC 6265 section 6.1). */
const MAX_COOKIE_BYTES = 50 * 4096;

/**
 * Reads the one credential of a request. Several are refused whichever of them would do: the next hop may read
 * another one than the guard did. The length decides before anything looks at all of a field.
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
  // Whatever their schemes: the next hop may read the other one.
  if (others.length > 0) return MALFORMED;
  return field === undefined ? MISSING : readField(field, maxTokenBytes);
}

/** A scheme other than Bearer is no credential for this server (RFC 6750 section 3.1): it is answered like none. */
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
 * Whether a header's token that nobody accepts is none to begin with. Asked last: what is accepted is well formed, and looking
 * at every character takes longer than to find a token that is remembered.
 */
export const isMalformed = ({ token, source }: Extract<Credential, { kind: "token" }>): boolean =>
  source === "header" && !TOKEN.test(token);

/** Every cookie of the name (RFC 6265 section 4.2.1): a second one may be planted from a sibling domain. */
function readCookie(cookie: string | undefined, name: string, maxTokenBytes: number): Credential {
  if (cookie === undefined) return MISSING;
  if (cookie.length > MAX_COOKIE_BYTES + maxTokenBytes) return TOO_LARGE;
  // Nothing is cut where nothing can be found: a client may send thousands of others.
  if (!cookie.includes(name)) return MISSING;
  const values = cookie.split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    const isNamed = separator >= 0 && pair.slice(0, separator).trim() === name;
    return isNamed ? [pair.slice(separator + 1).trim()] : [];
  });
  const [token = "", ...others] = values;
  if (others.length > 0) return MALFORMED;
  // A cookie that was cleared is left with an empty value.
  if (token === "") return MISSING;
  return token.length > maxTokenBytes ? TOO_LARGE : { kind: "token", token, source: "cookie" };
}
