import { type AccessRequest, headerOf, ownProperty } from "../request.ts";

/** Where a request may carry its token. Never in the query, which ends up in logs (RFC 6750 section 5.3). */
export type TokenSource = HeaderSource | { readonly cookie: string };

interface HeaderSource {
  /** The name of the field, in lower case. */
  readonly header: string;
  /**
   * The scheme before the token, in any letter case; `null` if the field contains only the token. Required
   * for any field but `authorization`, whose default is `"Bearer"`.
   */
  readonly scheme?: string | null;
}

/** The credential of a request. `missing` includes schemes of other servers, `malformed` several tokens. */
export type Credential =
  | {
      readonly kind: "token";
      readonly token: string;
      readonly source: "header" | "cookie";
      readonly scheme?: ProofScheme | undefined;
    }
  | { readonly kind: "missing" }
  | { readonly kind: "malformed"; readonly cause: string; readonly scheme?: ProofScheme | undefined }
  | { readonly kind: "too_large"; readonly scheme?: ProofScheme | undefined };

export type Token = Extract<Credential, { kind: "token" }>;
export type Unusable = Extract<Credential, { kind: "malformed" | "too_large" }>;

/** The scheme of a token that is sent with a proof (RFC 9449 section 7.1). */
export type ProofScheme = "DPoP";

const MISSING: Credential = { kind: "missing" };
const malformed = (cause: string) => ({ kind: "malformed", cause }) as const;
const SEVERAL_SOURCES = malformed("The request carries a token in several places.");
const SEVERAL_COOKIES = malformed("The request has several cookies with the name of the token.");

/** For a token in a header, if `isMalformed` returns `true`. */
export const WRONG_SYNTAX = malformed("The token has a character that RFC 6750 doesn't allow.");
const TOO_LARGE = { kind: "too_large" } as const;

const AUTHORIZATION = "authorization";

export type ResolvedSource = ResolvedHeader | { readonly cookie: string };

interface ResolvedHeader {
  readonly header: string;
  /** The schemes before the token; `null` if the field contains only the token. */
  readonly schemes: readonly Scheme[] | null;
  /** The schemes of all sources. */
  readonly allSchemes: readonly Scheme[];
}

interface Scheme {
  /** The start of the field, in lower case: `bearer `. Letter case doesn't matter (RFC 9110 section 11.1). */
  readonly prefix: string;
  /** As it's usually written. */
  readonly name: string;
  readonly proofScheme: ProofScheme | undefined;
}

const createScheme = (name: string, proofScheme?: ProofScheme): Scheme => ({
  prefix: `${name.toLowerCase()} `,
  name,
  proofScheme,
});

/** Adds the scheme of proofs to the first source in `Authorization` that has a scheme. */
export function resolveTokenSources(
  sources: readonly TokenSource[],
  proofScheme?: ProofScheme,
): readonly ResolvedSource[] {
  const withProofs = sources.find(readsScheme);
  const allSchemes: Scheme[] = [];
  return sources.map((source) => {
    if (isCookie(source)) return source;
    const scheme = schemeOf(source);
    const schemes = scheme === null ? null : [createScheme(nameOf(scheme))];
    if (proofScheme && source === withProofs) schemes?.push(createScheme(proofScheme, proofScheme));
    allSchemes.push(...(schemes ?? []));
    return { header: source.header, schemes, allSchemes };
  });
}

/** Own properties only: a polluted prototype must not turn a header into a cookie. */
export const isCookie = (item: object): item is { readonly cookie: string } => Object.hasOwn(item, "cookie");

export const readsScheme = (source: TokenSource): boolean =>
  !isCookie(source) && source.header === AUTHORIZATION && schemeOf(source) !== null;

/** Reads only an own `scheme`, so that a polluted prototype can't add one. */
const schemeOf = (source: HeaderSource): string | null =>
  Object.hasOwn(source, "scheme") ? (source.scheme ?? null) : "bearer";

/** Returns the fields that may carry a token, except `authorization`. */
export const tokenHeadersOf = (sources: readonly (TokenSource | ResolvedSource)[]): readonly string[] =>
  [...new Set(sources.flatMap((source) => (isCookie(source) ? [] : source.header)))].filter(
    (name) => name !== AUTHORIZATION,
  );

/** Returns a token in the syntax of the `Authorization` header. */
export const authorizationOf = (token: string): string => `bearer ${token}`;

/** Returns whether a token has the syntax of RFC 6750 section 2.1. */
export const hasTokenSyntax = (token: string): boolean => /^[\w\-.~+/]+=*$/.test(token);

/** Credentials of another scheme (RFC 9110 section 11.4): a scheme, and something after it. */
const OTHER_SCHEME = /^[\w!#$%&'*+\-.^`|~]{1,64} {1,64}\S/i;

/** The size of the other cookies that a user agent may send: 50 of 4096 bytes (RFC 6265 section 6.1). */
const MAX_COOKIE_BYTES = 50 * 4096;

/** Where a request may have its token, and what happens if it has several. */
export interface CredentialRules {
  readonly tokenSources: readonly ResolvedSource[];
  readonly maxTokenBytes: number;
  readonly multipleCredentials: "refuse" | "first";
}

/**
 * Reads the credential of a request. Several are malformed even if one is valid, because the next server may
 * read another one (RFC 6750 section 2). The length is checked before the whole field is read.
 */
export function readCredential(
  request: AccessRequest,
  { tokenSources, maxTokenBytes, multipleCredentials }: CredentialRules,
): Credential {
  let first = MISSING;
  for (const source of tokenSources) {
    const credential = isCookie(source)
      ? readCookie(ownProperty(request, "cookie"), source.cookie, maxTokenBytes)
      : readHeader(fieldsOf(request, source.header), source, maxTokenBytes);
    if (credential.kind === "missing") continue;
    if (multipleCredentials === "first") return credential;
    if (first.kind === "missing") first = credential;
    // Without a token, one field is malformed in the same way for each of its schemes.
    else if (first.kind !== "malformed" || credential.kind !== first.kind || first.cause !== credential.cause)
      return SEVERAL_SOURCES;
  }
  return first;
}

/** Own properties only: a polluted prototype must not add a credential. */
function fieldsOf(request: AccessRequest, name: string): string | readonly string[] | undefined {
  return name === AUTHORIZATION ? ownProperty(request, "authorization") : headerOf(request, name);
}

function readHeader(
  fields: string | readonly string[] | undefined,
  source: ResolvedHeader,
  maxTokenBytes: number,
): Credential {
  if (typeof fields === "string") return readField(fields, source, maxTokenBytes);
  const [field, ...others] = fields ?? [];
  // Refused even with different schemes: the next server may read the other field.
  if (others.length > 0) return malformed(`The request has several ${nameOf(source.header)} headers.`);
  return field === undefined ? MISSING : readField(field, source, maxTokenBytes);
}

/** Returns the name of a field or a scheme as it is usually written: `Authorization`. */
const nameOf = (header: string): string => header.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Reads a field that contains only the token. Joined fields have a comma, which no token contains. */
function readToken(field: string, maxTokenBytes: number): Credential {
  if (field === "") return MISSING;
  return field.length > maxTokenBytes ? TOO_LARGE : { kind: "token", token: field, source: "header" };
}

/** Another scheme isn't a credential for this server (RFC 6750 section 3.1). */
function readField(field: string, source: ResolvedHeader, maxTokenBytes: number): Credential {
  const { header, schemes, allSchemes } = source;
  if (schemes === null) return readToken(field, maxTokenBytes);
  const matching = schemes.find(({ prefix }) => field.slice(0, prefix.length).toLowerCase() === prefix);
  if (!matching) {
    if (OTHER_SCHEME.test(field)) return MISSING;
    // Only a short field is read as a whole: a field may have megabytes.
    const alone = allSchemes.find(
      ({ prefix }) => field.length <= prefix.length && `${field.toLowerCase()} `.startsWith(prefix),
    );
    return alone
      ? withoutToken(header, alone)
      : malformed(`The ${nameOf(header)} header has no scheme before the credential.`);
  }
  const { prefix, proofScheme: scheme } = matching;
  if (field.length - prefix.length > maxTokenBytes) return { ...TOO_LARGE, scheme };
  let tokenStart = prefix.length;
  while (field[tokenStart] === " ") tokenStart += 1;
  const token = field.slice(tokenStart);
  return token === "" ? withoutToken(header, matching) : { kind: "token", token, source: "header", scheme };
}

const withoutToken = (header: string, { name, proofScheme: scheme }: Scheme): Credential => ({
  ...malformed(`The ${nameOf(header)} header has the scheme ${name} without a token.`),
  scheme,
});

/**
 * Returns whether a rejected token in a header has the wrong syntax. Called last, because checking every
 * character is slower than finding a cached token, and an accepted token always has the right syntax.
 */
export const isMalformed = ({ token, source }: Token): boolean =>
  source === "header" && !hasTokenSyntax(token);

/** Another cookie with the same name (RFC 6265 section 4.2.1) may be from an attacker on a sibling domain. */
function readCookie(cookie: string | undefined, name: string, maxTokenBytes: number): Credential {
  if (cookie === undefined) return MISSING;
  if (cookie.length > MAX_COOKIE_BYTES + maxTokenBytes) return TOO_LARGE;
  // Fast path: don't split thousands of other cookies.
  if (!cookie.includes(name)) return MISSING;
  const values: string[] = [];
  for (const pair of cookie.split(";")) {
    const separator = pair.indexOf("=");
    if (separator < 0 || trimBlanks(pair.slice(0, separator)) !== name) continue;
    values.push(withoutQuotes(trimBlanks(pair.slice(separator + 1))));
    if (values.length > 1) return SEVERAL_COOKIES;
  }
  const [token = ""] = values;
  // Applications clear a cookie by setting it to an empty value.
  if (token === "") return MISSING;
  return token.length > maxTokenBytes ? TOO_LARGE : { kind: "token", token, source: "cookie" };
}

/** A cookie value may be in double quotes (RFC 6265 section 4.1.1). */
const withoutQuotes = (value: string): string =>
  value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;

/**
 * Removes spaces and tabs only (RFC 6265bis section 5.6): `trim` also removes a raw byte A0, with which a
 * sibling domain could set a cookie that passes for one with the prefix `__Host-`.
 */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

const isBlank = (char: string | undefined): boolean => char === " " || char === "\t";
