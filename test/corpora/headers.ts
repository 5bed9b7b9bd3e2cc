/** Header values, and the credential that each is read as: by hand. */
import type { HeaderCase } from "./format.ts";

export const BEARER_TOKENS: readonly (readonly [value: string, token: string])[] = [
  ["Bearer a.b.c", "a.b.c"],
  ["bearer a.b.c", "a.b.c"],
  ["bEaReR a.b.c", "a.b.c"],
  ["Bearer  a.b.c", "a.b.c"],
  ["Bearer -._~+/Az09==", "-._~+/Az09=="],
];

export const MALFORMED_FIELDS: readonly string[] = [
  "Bearer",
  "Bearer ",
  "",
  "Bearer\ta.b.c",
  "Bearera.b.c",
  "Bearer: a.b.c",
  "Bearer a.b.c ",
  "Bearer a.b.c\n",
  " Bearer a.b.c",
  "Bearer a.b.c d",
  "Bearer a.b.c, Bearer d.e.f",
  "Bearer a.b.c, Basic dXNlcjpwYXNz",
  "Bearer a.b.c,d.e.f",
  'Bearer "a.b.c"',
  "Bearer a=b",
  "Bearer =",
  "Bearer a.b.c\0",
  "a.b.c",
  "Basic",
  "(Bearer) a.b.c",
  "Bearer\u00a0a.b.c",
];

export const OTHER_SCHEMES: readonly string[] = [
  "Basic dXNlcjpwYXNz",
  'Digest username="Mufasa", realm="x"',
  "DPoP a.b.c",
  "Bearer2 a.b.c",
  "Negotiate  YII=",
];

export const SEVERAL_FIELDS: readonly (readonly [fields: readonly string[]])[] = [
  [["Bearer a.b.c", "Bearer d.e.f"]],
  [["Bearer a.b.c", "Bearer a.b.c"]],
  [["Bearer a.b.c", ""]],
  [["", "Bearer a.b.c"]],
  [["Bearer a.b.c", "Bearer"]],
  [["Basic dXNlcjpwYXNz", "Bearer a.b.c"]],
  [["Bearer a.b.c", "Basic dXNlcjpwYXNz"]],
];

export const COOKIE_TOKENS: readonly (readonly [value: string, token: string])[] = [
  ["access_token=a.b.c", "a.b.c"],
  ["theme=dark; access_token=a.b.c; lang=en", "a.b.c"],
  ["theme=dark;access_token=a.b.c", "a.b.c"],
  ["xaccess_token=d.e.f; access_token=a.b.c", "a.b.c"],
  ["access_token=a.b=", "a.b="],
];

export const OTHER_COOKIES: readonly (string | undefined)[] = [
  undefined,
  "",
  "theme=dark",
  "access_token",
  "Access_Token=a.b.c",
  "theme=access_token=a.b.c",
  "access%5Ftoken=a.b.c",
  "__proto__=a.b.c",
];

export const REPEATED_COOKIES: readonly string[] = [
  "access_token=a.b.c; access_token=d.e.f",
  "access_token=a.b.c; access_token=a.b.c",
  "access_token=; access_token=a.b.c",
  "access_token=a.b.c; access_token=",
];

export const EMPTY_COOKIES: readonly string[] = [
  "access_token=",
  "access_token=; theme=dark",
  "access_token= ",
];

export const QUOTED_COOKIES: readonly (readonly [value: string, token: string])[] = [
  ['access_token="a.b.c"', "a.b.c"],
  ['access_token="a.b.c"; theme="dark"', "a.b.c"],
  ['access_token= "a.b.c" ', "a.b.c"],
  ['access_token="a.b.c', '"a.b.c'],
  ['access_token=a.b.c"', 'a.b.c"'],
  ['access_token="', '"'],
  ['access_token=""a.b.c""', '"a.b.c"'],
];

export const BLANKS: readonly string[] = ["\u00a0", "\u00a0 ", "\ufeff", "\v", "\f", "\u2028"];

export const TWO_SOURCES: readonly (readonly [authorization: string, cookie: string])[] = [
  ["Bearer a.b.c", "access_token=d.e.f"],
  ["Bearer a.b.c", "access_token=a.b.c"],
  ["Bearer", "access_token=d.e.f"],
  ["", "access_token=d.e.f"],
];

export const MALFORMED_ASSERTIONS: readonly string[] = [
  "Bearer a.b.c",
  " a.b.c",
  "a.b.c ",
  "a.b.c,d.e.f",
  "a.b.c, a.b.c",
  '"a.b.c"',
  "a.b.c\n",
];

/** The configurations, by their names. */
export const CONFIGURATIONS = {
  header: {},
  dpop: { sender_constraint: { dpop: { origins: ["https://service.example"] } } },
  cookie: { token_sources: [{ cookie: "access_token" }] },
  host_cookie: { token_sources: [{ cookie: "__Host-token" }] },
  both: { token_sources: [{ header: "authorization" }, { cookie: "access_token" }] },
  first: {
    token_sources: [{ header: "authorization" }, { cookie: "access_token" }],
    multiple_credentials: "first",
  },
  cookie_first: {
    token_sources: [{ cookie: "access_token" }, { header: "authorization" }],
    multiple_credentials: "first",
  },
  two_cookies: { token_sources: [{ cookie: "a" }, { cookie: "b" }] },
  assertion: { token_sources: [{ header: "x-assertion", scheme: null }] },
  scheme: { token_sources: [{ header: "authorization", scheme: "Token" }] },
};

type Name = keyof typeof CONFIGURATIONS;
type Fields = HeaderCase["headers"];

const credential = (
  configuration: Name,
  headers: Fields,
  token: string,
  scheme: "Bearer" | "DPoP" = "Bearer",
): HeaderCase => ({ configuration, headers, result: "credential", token, scheme });
const missing = (configuration: Name, headers: Fields): HeaderCase => ({
  configuration,
  headers,
  result: "missing",
});
const malformed = (configuration: Name, headers: Fields): HeaderCase => ({
  configuration,
  headers,
  result: "malformed",
});

const BOTH = { authorization: "Bearer a.b.c", cookie: "access_token=d.e.f" };

const oneField: readonly HeaderCase[] = [
  missing("header", {}),
  missing("header", { authorization: [] }),
  missing("header", { cookie: "access_token=a.b.c" }),
  ...BEARER_TOKENS.map(([authorization, token]) => credential("header", { authorization }, token)),
  ...MALFORMED_FIELDS.map((authorization) => malformed("header", { authorization })),
  ...OTHER_SCHEMES.map((authorization) => missing("header", { authorization })),
  ...SEVERAL_FIELDS.map(([authorization]) => malformed("header", { authorization: [...authorization] })),
];

const cookies: readonly HeaderCase[] = [
  missing("cookie", {}),
  missing("cookie", { authorization: "Bearer a.b.c" }),
  credential("cookie", { authorization: "Bearer", cookie: "access_token=a.b.c" }, "a.b.c"),
  ...[...COOKIE_TOKENS, ...QUOTED_COOKIES].map(([cookie, token]) => credential("cookie", { cookie }, token)),
  ...[...OTHER_COOKIES, ...EMPTY_COOKIES, 'access_token=""'].flatMap((cookie) =>
    cookie === undefined ? [] : [missing("cookie", { cookie })],
  ),
  ...REPEATED_COOKIES.map((cookie) => malformed("cookie", { cookie })),
  ...BLANKS.flatMap((blank) => [
    missing("host_cookie", { cookie: `${blank}__Host-token=a.b.c` }),
    missing("host_cookie", { cookie: `__Host-token${blank}=a.b.c` }),
    credential("host_cookie", { cookie: `${blank}__Host-token=a.b.c; __Host-token=d.e.f` }, "d.e.f"),
  ]),
];

const severalSources: readonly HeaderCase[] = [
  ...TWO_SOURCES.map(([authorization, cookie]) => malformed("both", { authorization, cookie })),
  ...EMPTY_COOKIES.map((cookie) => credential("both", { authorization: "Bearer a.b.c", cookie }, "a.b.c")),
  credential("both", { authorization: "Bearer a.b.c" }, "a.b.c"),
  credential("both", { cookie: "access_token=d.e.f" }, "d.e.f"),
  credential("both", { authorization: "Basic dXNlcjpwYXNz", cookie: "access_token=d.e.f" }, "d.e.f"),
  missing("both", {}),
  credential("first", BOTH, "a.b.c"),
  credential("first", { ...BOTH, authorization: "Basic dXNlcjpwYXNz" }, "d.e.f"),
  malformed("first", { ...BOTH, authorization: "Bearer" }),
  malformed("first", { authorization: ["Bearer a.b.c", "Bearer a.b.c"] }),
  malformed("first", { cookie: "access_token=a; access_token=b" }),
  missing("first", {}),
  credential("cookie_first", BOTH, "d.e.f"),
  credential("cookie_first", { ...BOTH, cookie: "access_token=" }, "a.b.c"),
  malformed("two_cookies", { cookie: "a=a.b.c; b=d.e.f" }),
  credential("two_cookies", { cookie: "b=d.e.f" }, "d.e.f"),
];

const otherFields: readonly HeaderCase[] = [
  credential("assertion", { "x-assertion": "a.b.c" }, "a.b.c"),
  credential("assertion", { "x-assertion": ["a.b.c"] }, "a.b.c"),
  ...MALFORMED_ASSERTIONS.map((value) => malformed("assertion", { "x-assertion": value })),
  malformed("assertion", { "x-assertion": ["a.b.c", "a.b.c"] }),
  malformed("assertion", { "x-assertion": ["a.b.c", ""] }),
  missing("assertion", { "x-assertion": "" }),
  missing("assertion", { authorization: "Bearer a.b.c" }),
  credential("scheme", { authorization: "Token a.b.c" }, "a.b.c"),
  credential("scheme", { authorization: "TOKEN  a.b.c" }, "a.b.c"),
  missing("scheme", { authorization: "Bearer a.b.c" }),
  malformed("scheme", { authorization: "Token" }),
];

/** RFC 9449 sections 4.3 and 7.1. The token of a proof is accepted, and bound to a key. */
const proofs: readonly HeaderCase[] = [
  ...["DPoP a.b.c", "dpop a.b.c", "DPOP  a.b.c"].map((authorization) =>
    credential("dpop", { authorization }, "a.b.c", "DPoP"),
  ),
  credential("dpop", { authorization: "Bearer a.b.c" }, "a.b.c"),
  ...["DPoP2 a.b.c", "Basic dXNlcjpwYXNz"].map((authorization) => missing("dpop", { authorization })),
  ...[
    "DPoP",
    "DPoP ",
    "DPoP\ta.b.c",
    "DPoP a.b.c d.e.f",
    "DPoP DPoP a.b.c",
    "DPoP a.b.c, Bearer a.b.c",
    "DPoP a.b.c,",
    "Bearer a.b.c, DPoP a.b.c",
    "DPoP,Bearer a.b.c",
    "Bearer DPoP a.b.c",
    "DPoP Bearer a.b.c",
    'DPoP "a.b.c"',
  ].map((authorization) => malformed("dpop", { authorization })),
  malformed("dpop", { authorization: ["DPoP a.b.c", "Bearer a.b.c"] }),
  malformed("dpop", { authorization: ["DPoP a.b.c", "DPoP a.b.c"] }),
  { configuration: "dpop", headers: { authorization: "DPoP bound" }, result: "proof_missing" },
  ...["", "x", "a.b", "a.b.c", "a.b.c, a.b.c", "a.b.c.d.e", ["a.b.c", "a.b.c"], ["a.b.c", ""]].map(
    (dpop): HeaderCase => ({
      configuration: "dpop",
      headers: { authorization: "DPoP bound", dpop },
      result: "proof_malformed",
    }),
  ),
];

export const HEADER_CASES: readonly HeaderCase[] = [
  ...oneField,
  ...cookies,
  ...severalSources,
  ...otherFields,
  ...proofs,
];
