import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessRequest } from "../../../src/core/request.ts";
import {
  isMalformed,
  readCredential,
  resolveTokenSources,
  type TokenSource,
} from "../../../src/core/token/credential.ts";
import {
  BEARER_TOKENS,
  BLANKS,
  COOKIE_TOKENS,
  EMPTY_COOKIES,
  MALFORMED_ASSERTIONS,
  MALFORMED_FIELDS,
  OTHER_COOKIES,
  OTHER_SCHEMES,
  QUOTED_COOKIES,
  REPEATED_COOKIES,
  SEVERAL_FIELDS,
  TWO_SOURCES,
} from "../../corpora/headers.ts";
import { findFormMistake, readJwt } from "../../../src/core/token/jwt-parts.ts";

const HEADER: readonly TokenSource[] = [{ header: "authorization" }];
const COOKIE: readonly TokenSource[] = [{ cookie: "access_token" }];
const BOTH: readonly TokenSource[] = [...HEADER, ...COOKIE];

/** As for a request whose token was rejected. */
function read(
  request: Partial<AccessRequest>,
  tokenSources = HEADER,
  multipleCredentials: "refuse" | "first" = "refuse",
): object {
  const rules = {
    tokenSources: resolveTokenSources(tokenSources),
    maxTokenBytes: 16_384,
    multipleCredentials,
  };
  const credential = readCredential({ method: "GET", target: "/agents", ...request }, rules);
  if (credential.kind === "malformed") return MALFORMED;
  if (credential.kind !== "token") return credential;
  return isMalformed(credential) ? MALFORMED : token(credential.token);
}

const token = (text: string) => ({ kind: "token", token: text });
const MISSING = { kind: "missing" };
const MALFORMED = { kind: "malformed" };

describe("readCredential with the Authorization header", () => {
  it.each(BEARER_TOKENS)(
    "returns the token of %j (RFC 6750 section 2.1, RFC 9110 section 11.1)",
    (authorization, text) => {
      expect(read({ authorization })).toEqual(token(text));
      expect(read({ authorization: [authorization] })).toEqual(token(text));
    },
  );

  it.each(MALFORMED_FIELDS)("returns malformed for %j", (authorization) => {
    expect(read({ authorization })).toEqual(MALFORMED);
    expect(read({ authorization: [authorization] })).toEqual(MALFORMED);
  });

  it.each(OTHER_SCHEMES)("returns missing for another scheme: %j (RFC 6750 section 3.1)", (authorization) => {
    expect(read({ authorization })).toEqual(MISSING);
  });

  it("returns missing if there is no field", () => {
    expect(read({})).toEqual(MISSING);
    expect(read({ authorization: undefined })).toEqual(MISSING);
    expect(read({ authorization: [] })).toEqual(MISSING);
  });

  it.each(SEVERAL_FIELDS)("returns malformed for several fields, even equal ones: %j", (authorization) => {
    expect(read({ authorization })).toEqual(MALFORMED);
  });

  it("ignores the header if only a cookie is configured", () => {
    expect(read({ authorization: "Bearer a.b.c" }, COOKIE)).toEqual(MISSING);
    expect(read({ authorization: "Bearer", cookie: "access_token=d.e.f" }, COOKIE)).toEqual(token("d.e.f"));
  });
});

describe("readCredential with a cookie", () => {
  it.each(COOKIE_TOKENS)("returns the token of the configured cookie in %j", (cookie, text) => {
    expect(read({ cookie }, COOKIE)).toEqual(token(text));
  });

  it.each(OTHER_COOKIES)("returns missing for %j", (cookie) => {
    expect(read({ cookie }, COOKIE)).toEqual(MISSING);
  });

  it.each(REPEATED_COOKIES)(
    "returns malformed for a repeated name, because a sibling domain may have set one: %j",
    (cookie) => {
      expect(read({ cookie }, COOKIE)).toEqual(MALFORMED);
    },
  );

  it.each(EMPTY_COOKIES)("returns missing for an empty cookie, as after a sign-out: %j", (cookie) => {
    expect(read({ cookie }, COOKIE)).toEqual(MISSING);
    expect(read({ cookie, authorization: "Bearer a.b.c" }, BOTH)).toEqual(token("a.b.c"));
  });

  it.each(QUOTED_COOKIES)(
    "reads the value between double quotes (RFC 6265 section 4.1.1): %s",
    (cookie, text) => {
      expect(read({ cookie }, COOKIE)).toEqual(token(text));
    },
  );

  it("returns missing for double quotes without a value", () => {
    expect(read({ cookie: 'access_token=""' }, COOKIE)).toEqual(MISSING);
  });

  it.each(BLANKS)("ignores a cookie whose name has %j before or after it", (space) => {
    const sources = [{ cookie: "__Host-token" }];
    expect(read({ cookie: `${space}__Host-token=a.b.c` }, sources)).toEqual(MISSING);
    expect(read({ cookie: `__Host-token${space}=a.b.c` }, sources)).toEqual(MISSING);
    expect(read({ cookie: `${space}__Host-token=a.b.c; __Host-token=d.e.f` }, sources)).toEqual(
      token("d.e.f"),
    );
  });

  it("removes spaces and tabs around the name and the value, and nothing else", () => {
    expect(read({ cookie: "a=b;\t access_token \t=\t a.b.c \t" }, COOKIE)).toEqual(token("a.b.c"));
    expect(read({ cookie: "access_token=\u00a0a.b.c\u00a0" }, COOKIE)).toEqual(token("\u00a0a.b.c\u00a0"));
  });

  it("ignores the cookie if it is not configured", () => {
    expect(read({ cookie: "access_token=a.b.c" })).toEqual(MISSING);
    expect(read({ cookie: "access_token=d.e.f", authorization: "Bearer a.b.c" })).toEqual(token("a.b.c"));
    expect(read({ cookie: "authorization=a.b.c" })).toEqual(MISSING);
  });

  it("accepts any cookie name", () => {
    expect(read({ cookie: "__proto__=a.b.c" }, [{ cookie: "__proto__" }])).toEqual(token("a.b.c"));
    expect(read({ cookie: "__Host-t=a.b.c" }, [{ cookie: "__Host-t" }])).toEqual(token("a.b.c"));
  });
});

describe("the size of a credential", () => {
  const MAX = 16_384;
  /** The size of the cookies besides the token: RFC 6265 section 6.1. */
  const OTHERS = 50 * 4096;
  const TOO_LARGE = { kind: "too_large" };

  it.each(["Bearer ", "bearer "])(
    "returns a token of maxTokenBytes, and too_large for one byte more, after %j",
    (scheme) => {
      const longest = "a".repeat(MAX);
      expect(read({ authorization: scheme + longest })).toEqual(token(longest));
      expect(read({ authorization: `${scheme}${longest}a` })).toEqual(TOO_LARGE);
      expect(read({ authorization: `${scheme} ${longest}` })).toEqual(TOO_LARGE);
    },
  );

  it("limits a token in a cookie to maxTokenBytes, whatever other cookies there are", () => {
    const longest = "a".repeat(MAX);
    expect(read({ cookie: `x=y; access_token=${longest}` }, COOKIE)).toEqual(token(longest));
    expect(read({ cookie: `x=y; access_token=${longest}a` }, COOKIE)).toEqual(TOO_LARGE);
  });

  it("allows the other cookies that a user agent may send, and no more", () => {
    const cookie = "access_token=a; x=".padEnd(OTHERS + MAX, "y");
    expect(read({ cookie }, COOKIE)).toEqual(token("a"));
    expect(read({ cookie: `${cookie}y` }, COOKIE)).toEqual(TOO_LARGE);
  });
});

describe("readCredential with the header and a cookie configured", () => {
  it("returns the token of either place", () => {
    expect(read({ authorization: "Bearer a.b.c" }, BOTH)).toEqual(token("a.b.c"));
    expect(read({ cookie: "access_token=d.e.f" }, BOTH)).toEqual(token("d.e.f"));
    expect(read({}, BOTH)).toEqual(MISSING);
  });

  it.each(TWO_SOURCES)(
    "returns malformed for tokens in both: %j and %j (RFC 6750 section 2)",
    (authorization, cookie) => {
      expect(read({ authorization, cookie }, BOTH)).toEqual(MALFORMED);
    },
  );

  it("returns malformed for two configured cookies", () => {
    const sources = [{ cookie: "a" }, { cookie: "b" }];
    expect(read({ cookie: "a=a.b.c; b=d.e.f" }, sources)).toEqual(MALFORMED);
    expect(read({ cookie: "b=d.e.f" }, sources)).toEqual(token("d.e.f"));
  });
});

describe('readCredential with several credentials and `multipleCredentials: "first"`', () => {
  const first = (request: Partial<AccessRequest>, sources = BOTH) => read(request, sources, "first");
  const both = { authorization: "Bearer a.b.c", cookie: "access_token=d.e.f" };

  it("returns the token of the first source that is present", () => {
    expect(first(both)).toEqual(token("a.b.c"));
    expect(first(both, [...COOKIE, ...HEADER])).toEqual(token("d.e.f"));
    expect(first({ cookie: both.cookie })).toEqual(token("d.e.f"));
    expect(first({ ...both, authorization: "Basic dXNlcjpwYXNz" })).toEqual(token("d.e.f"));
    expect(first({ ...both, cookie: "access_token=" }, [...COOKIE, ...HEADER])).toEqual(token("a.b.c"));
    expect(first({})).toEqual(MISSING);
  });

  it("does not try the next source if the first is malformed or too large", () => {
    expect(first({ ...both, authorization: "Bearer" })).toEqual(MALFORMED);
    expect(first({ ...both, authorization: `Bearer ${"a".repeat(16_385)}` })).toEqual({ kind: "too_large" });
  });

  it("returns malformed for several headers, and for several cookies of one name", () => {
    expect(first({ authorization: ["Bearer a.b.c", "Bearer a.b.c"] })).toEqual(MALFORMED);
    expect(first({ cookie: "access_token=a; access_token=b" })).toEqual(MALFORMED);
  });
});

describe("isMalformed", () => {
  it("returns false for every token that could be accepted", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "Z", "0", "-", "_", ".", "~", "+", "/", "=", ",", "\t", " ", "\u00e7"),
      maxLength: 12,
    });
    const segment = fc.oneof(
      text,
      fc.base64String().map((one) => one.replaceAll("=", "")),
    );
    fc.assert(
      fc.property(
        fc.constant("eyJhbGciOiJSUzI1NiJ9"),
        segment,
        segment,
        text,
        (header, payload, signature, more) => {
          const encoded = `${header}.${payload}.${signature}${more}`;
          const credential = { kind: "token", token: encoded, source: "header" } as const;
          fc.pre(isMalformed(credential));
          const { kind, ...rejected } = findFormMistake(encoded, 16_384) ?? readJwt(encoded);
          expect([kind, rejected]).toEqual(["rejected", { rejection: "malformed" }]);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("the query string", () => {
  it.each(["/agents?access_token=a.b.c", "/agents?authorization=Bearer%20a.b.c", "/agents?token=a.b.c"])(
    "provides no token: %j (RFC 6750 section 5.3)",
    (target) => {
      expect(read({ target }, BOTH)).toEqual(MISSING);
      expect(read({ target, authorization: "Bearer d.e.f" }, BOTH)).toEqual(token("d.e.f"));
    },
  );
});

describe("readCredential with another header field", () => {
  const BARE: readonly TokenSource[] = [{ header: "x-assertion", scheme: null }];
  const SCHEME: readonly TokenSource[] = [{ header: "authorization", scheme: "Token" }];
  const field = (value: string | readonly string[]) => ({ headers: { "x-assertion": value } });

  it("returns the whole field without a scheme", () => {
    expect(read(field("a.b.c"), BARE)).toEqual(token("a.b.c"));
    expect(read(field(["a.b.c"]), BARE)).toEqual(token("a.b.c"));
  });

  it.each(MALFORMED_ASSERTIONS)("returns malformed for %j", (value) => {
    expect(read(field(value), BARE)).toEqual(MALFORMED);
  });

  it("returns malformed for several fields", () => {
    expect(read(field(["a.b.c", "a.b.c"]), BARE)).toEqual(MALFORMED);
    expect(read(field(["a.b.c", ""]), BARE)).toEqual(MALFORMED);
  });

  it("returns missing for an empty field, another one, and a field of a prototype", () => {
    expect(read(field(""), BARE)).toEqual(MISSING);
    expect(read({ headers: { "x-other": "a.b.c" } }, BARE)).toEqual(MISSING);
    expect(read({ headers: Object.create({ "x-assertion": "a.b.c" }) as object as never }, BARE)).toEqual(
      MISSING,
    );
    expect(read({ authorization: "Bearer a.b.c" }, BARE)).toEqual(MISSING);
  });

  it("limits the size", () => {
    expect(read(field("a".repeat(16_385)), BARE)).toEqual({ kind: "too_large" });
  });

  it("reads a token of another scheme, in any letter case", () => {
    expect(read({ authorization: "Token a.b.c" }, SCHEME)).toEqual(token("a.b.c"));
    expect(read({ authorization: "TOKEN  a.b.c" }, SCHEME)).toEqual(token("a.b.c"));
    expect(read({ authorization: "Bearer a.b.c" }, SCHEME)).toEqual(MISSING);
    expect(read({ authorization: "Token" }, SCHEME)).toEqual(MALFORMED);
    expect(read({ authorization: "Bearer a.b.c" }, [...SCHEME, ...HEADER])).toEqual(token("a.b.c"));
  });

  it("returns malformed for a token in several fields", () => {
    const both = { ...field("a.b.c"), authorization: "Bearer a.b.c" };
    expect(read(both, [...BARE, ...HEADER])).toEqual(MALFORMED);
    expect(read(both, [...BARE, ...HEADER], "first")).toEqual(token("a.b.c"));
  });
});
