import { type AccessRequest, ownMember } from "../request.ts";

/** Where a token may stand in a request. Never the query string: those end up in logs (RFC 6750 section 5.3). */
export type TokenSource = { readonly header: "authorization" } | { readonly cookie: string };

/** What a request carried: one token, nothing that is meant for this server, or something that breaks the syntax. */
export type Credential =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "missing" }
  | { readonly kind: "malformed" };

const MISSING: Credential = { kind: "missing" };
const MALFORMED: Credential = { kind: "malformed" };

/** RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1). */
const BEARER = /^bearer +([\w\-.~+/]+=*)$/i;

/** Credentials of another scheme (RFC 9110 section 11.4): a scheme and something behind it. */
const OTHER_SCHEME = /^(?!bearer(?: |$))[\w!#$%&'*+\-.^`|~]+ +\S/i;

/**
 * Reads the one credential of a request. Several are refused whichever of them would do: the next hop may read
 * another one than the guard did.
 */
export function readCredential(request: AccessRequest, sources: readonly TokenSource[]): Credential {
  const found = sources.flatMap((source) =>
    "cookie" in source
      ? readCookie(ownMember(request, "cookie"), source.cookie)
      : readAuthorization(ownMember(request, "authorization")),
  );
  const present = found.filter(({ kind }) => kind !== "missing");
  return present.length > 1 ? MALFORMED : (present[0] ?? MISSING);
}

/** A scheme other than Bearer is no credential for this server (RFC 6750 section 3.1): it is answered like none. */
function readAuthorization(fields: string | readonly string[] | undefined): readonly Credential[] {
  if (fields === undefined) return [];
  const list = typeof fields === "string" ? [fields] : fields;
  // Whatever their schemes: the next hop may read the other one.
  if (list.length > 1) return [MALFORMED];
  return list.map((field) => {
    const token = BEARER.exec(field)?.[1];
    if (token !== undefined) return { kind: "token", token };
    return OTHER_SCHEME.test(field) ? MISSING : MALFORMED;
  });
}

/** Every cookie of the name (RFC 6265 section 4.2.1): a second one may be planted from a sibling domain. */
function readCookie(cookie: string | undefined, name: string): readonly Credential[] {
  const values = (cookie?.split(";") ?? []).flatMap((pair) => {
    const separator = pair.indexOf("=");
    const isNamed = separator >= 0 && pair.slice(0, separator).trim() === name;
    return isNamed ? [pair.slice(separator + 1).trim()] : [];
  });
  if (values.length > 1) return [MALFORMED];
  // A cookie that was cleared is left with an empty value.
  return values.map((token) => (token === "" ? MISSING : { kind: "token", token }));
}
