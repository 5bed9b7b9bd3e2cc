import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AccessRequest } from "../../src/request.ts";
import { isMalformed, readCredential, type TokenSource } from "../../src/token/credential.ts";
import { formMistakeOf, readJwt } from "../../src/token/jwt-parts.ts";

const HEADER: readonly TokenSource[] = [{ header: "authorization" }];
const COOKIE: readonly TokenSource[] = [{ cookie: "access_token" }];
const BOTH: readonly TokenSource[] = [...HEADER, ...COOKIE];

/** As a request is answered whose token nobody accepts. */
function read(request: Partial<AccessRequest>, sources = HEADER): object {
  const credential = readCredential({ method: "GET", target: "/agents", ...request }, sources, 16_384);
  if (credential.kind !== "token") return credential;
  return isMalformed(credential) ? MALFORMED : token(credential.token);
}

const token = (text: string) => ({ kind: "token", token: text });
const MISSING = { kind: "missing" };
const MALFORMED = { kind: "malformed" };

describe("the Authorization header", () => {
  it.each([
    ["Bearer a.b.c", "a.b.c"],
    ["bearer a.b.c", "a.b.c"],
    ["BEARER a.b.c", "a.b.c"],
    ["bEaReR a.b.c", "a.b.c"],
    ["Bearer  a.b.c", "a.b.c"],
    ["Bearer      a.b.c", "a.b.c"],
    ["Bearer opaque", "opaque"],
    ["Bearer -._~+/Az09==", "-._~+/Az09=="],
    ["Bearer bearer", "bearer"],
  ])("reads the token of %j (RFC 6750 section 2.1, RFC 9110 section 11.1)", (authorization, text) => {
    expect(read({ authorization })).toEqual(token(text));
    expect(read({ authorization: [authorization] })).toEqual(token(text));
  });

  it.each([
    "Bearer",
    "bearer",
    "Bearer ",
    "Bearer    ",
    "",
    " ",
    "Bearer\ta.b.c",
    "Bearer \ta.b.c",
    "Bearera.b.c",
    "Bearer:a.b.c",
    "Bearer: a.b.c",
    "Bearer=a.b.c",
    "Bearer a.b.c ",
    "Bearer a.b.c\t",
    "Bearer a.b.c\n",
    " Bearer a.b.c",
    "\tBearer a.b.c",
    "Bearer a.b.c d",
    "Bearer a.b.c, Bearer d.e.f",
    "Bearer a.b.c,Bearer d.e.f",
    "Bearer a.b.c, Basic dXNlcjpwYXNz",
    "Bearer a.b.c,d.e.f",
    "Bearer a,b",
    'Bearer "a.b.c"',
    "Bearer token=a.b.c",
    "Bearer a=b",
    "Bearer =",
    "Bearer a.b.ç",
    "Bearer a.b.c\0",
    "Bearer a%2Eb",
    "a.b.c",
    "Basic",
    "Basic ",
    "(Bearer) a.b.c",
    "Bearer\u00a0a.b.c",
    "Ｂearer a.b.c",
  ])("finds %j malformed", (authorization) => {
    expect(read({ authorization })).toEqual(MALFORMED);
    expect(read({ authorization: [authorization] })).toEqual(MALFORMED);
  });

  it.each([
    "Basic dXNlcjpwYXNz",
    "basic dXNlcjpwYXNz",
    'Digest username="Mufasa", realm="x"',
    "DPoP a.b.c",
    "Bearer2 a.b.c",
    "XBearer a.b.c",
    "Negotiate  YII=",
  ])("takes %j for no credential: it is meant for someone else (RFC 6750 section 3.1)", (authorization) => {
    expect(read({ authorization })).toEqual(MISSING);
  });

  it("is missing where there is no field", () => {
    expect(read({})).toEqual(MISSING);
    expect(read({ authorization: undefined })).toEqual(MISSING);
    expect(read({ authorization: [] })).toEqual(MISSING);
  });

  it.each([
    [["Bearer a.b.c", "Bearer d.e.f"]],
    [["Bearer a.b.c", "Bearer a.b.c"]],
    [["Bearer a.b.c", ""]],
    [["", "Bearer a.b.c"]],
    [["Bearer", "Bearer"]],
    [["Bearer a.b.c", "Bearer"]],
    [["Basic dXNlcjpwYXNz", "Bearer a.b.c"]],
    [["Bearer a.b.c", "Basic dXNlcjpwYXNz"]],
    [["Basic dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"]],
  ])("refuses several fields, even equal ones: %j", (authorization) => {
    expect(read({ authorization })).toEqual(MALFORMED);
  });

  it("is not read where only a cookie is configured", () => {
    expect(read({ authorization: "Bearer a.b.c" }, COOKIE)).toEqual(MISSING);
    expect(read({ authorization: "Bearer", cookie: "access_token=d.e.f" }, COOKIE)).toEqual(token("d.e.f"));
  });
});

describe("a cookie", () => {
  it.each([
    ["access_token=a.b.c", "a.b.c"],
    ["theme=dark; access_token=a.b.c; lang=en", "a.b.c"],
    ["theme=dark;access_token=a.b.c", "a.b.c"],
    ["other=access_token; access_token=a.b.c", "a.b.c"],
    ["xaccess_token=d.e.f; access_token=a.b.c", "a.b.c"],
    ["access_token=a.b=", "a.b="],
  ])("is read by its name from %j", (cookie, text) => {
    expect(read({ cookie }, COOKIE)).toEqual(token(text));
  });

  it.each([
    undefined,
    "",
    ";",
    "theme=dark",
    "access_token",
    "Access_Token=a.b.c",
    "access_token2=a.b.c",
    "xaccess_token=a.b.c",
    "theme=access_token=a.b.c",
    "access%5Ftoken=a.b.c",
    "__proto__=a.b.c",
  ])("is missing from %j", (cookie) => {
    expect(read({ cookie }, COOKIE)).toEqual(MISSING);
  });

  it.each([
    "access_token=a.b.c; access_token=d.e.f",
    "access_token=a.b.c; access_token=a.b.c",
    "access_token=a.b.c; theme=dark; access_token=d.e.f; access_token=g.h.i",
  ])("is refused when it is there twice, as a sibling domain may plant one: %j", (cookie) => {
    expect(read({ cookie }, COOKIE)).toEqual(MALFORMED);
  });

  it.each(["access_token=", "access_token=; theme=dark", "access_token= "])(
    "is missing when it is empty, as a cookie that was cleared is: %j",
    (cookie) => {
      expect(read({ cookie }, COOKIE)).toEqual(MISSING);
      expect(read({ cookie, authorization: "Bearer a.b.c" }, BOTH)).toEqual(token("a.b.c"));
    },
  );

  it("keeps its quotation marks: they are part of the value, and of no token (RFC 6265 section 4.1.1)", () => {
    expect(read({ cookie: 'access_token="a.b.c"' }, COOKIE)).toEqual(token('"a.b.c"'));
  });

  it("is ignored where it is not configured", () => {
    expect(read({ cookie: "access_token=a.b.c" })).toEqual(MISSING);
    expect(read({ cookie: "access_token=d.e.f", authorization: "Bearer a.b.c" })).toEqual(token("a.b.c"));
    expect(read({ cookie: "authorization=a.b.c" })).toEqual(MISSING);
  });

  it("may have any name", () => {
    expect(read({ cookie: "__proto__=a.b.c" }, [{ cookie: "__proto__" }])).toEqual(token("a.b.c"));
    expect(read({ cookie: "__Host-t=a.b.c" }, [{ cookie: "__Host-t" }])).toEqual(token("a.b.c"));
  });
});

describe("the size of a credential", () => {
  const MAX = 16_384;
  /** What cookies besides the token may take: RFC 6265 section 6.1. */
  const OTHERS = 50 * 4096;
  const TOO_LARGE = { kind: "too_large" };

  it.each(["Bearer ", "bearer "])("ends behind the token's last allowed byte, after %j", (scheme) => {
    const longest = "a".repeat(MAX);
    expect(read({ authorization: scheme + longest })).toEqual(token(longest));
    expect(read({ authorization: `${scheme}${longest}a` })).toEqual(TOO_LARGE);
    expect(read({ authorization: `${scheme} ${longest}` })).toEqual(TOO_LARGE);
  });

  it("ends there in a cookie too, whatever other cookies there are", () => {
    const longest = "a".repeat(MAX);
    expect(read({ cookie: `x=y; access_token=${longest}` }, COOKIE)).toEqual(token(longest));
    expect(read({ cookie: `x=y; access_token=${longest}a` }, COOKIE)).toEqual(TOO_LARGE);
  });

  it("leaves room for the cookies that a user agent may send besides, and for no more", () => {
    const cookie = "access_token=a; x=".padEnd(OTHERS + MAX, "y");
    expect(read({ cookie }, COOKIE)).toEqual(token("a"));
    expect(read({ cookie: `${cookie}y` }, COOKIE)).toEqual(TOO_LARGE);
  });
});

describe("a cookie field that is odd", () => {
  it("has no value without an equals sign, however near the name comes", () => {
    expect(read({ cookie: "access_token" }, COOKIE)).toEqual(MISSING);
    expect(read({ cookie: "access_tokenX" }, COOKIE)).toEqual(MISSING);
  });

  it("is refused with a second cookie of the name, also when one of the two is empty", () => {
    expect(read({ cookie: "access_token=; access_token=a" }, COOKIE)).toEqual(MALFORMED);
    expect(read({ cookie: "access_token=a; access_token=" }, COOKIE)).toEqual(MALFORMED);
  });
});

describe("a request that may carry its token in either place", () => {
  it("is read from the one that is there", () => {
    expect(read({ authorization: "Bearer a.b.c" }, BOTH)).toEqual(token("a.b.c"));
    expect(read({ cookie: "access_token=d.e.f" }, BOTH)).toEqual(token("d.e.f"));
    expect(read({}, BOTH)).toEqual(MISSING);
  });

  it.each([
    ["Bearer a.b.c", "access_token=d.e.f"],
    ["Bearer a.b.c", "access_token=a.b.c"],
    ["Bearer", "access_token=d.e.f"],
    ["", "access_token=d.e.f"],
  ])("is refused with both: %j and %j (RFC 6750 section 2)", (authorization, cookie) => {
    expect(read({ authorization, cookie }, BOTH)).toEqual(MALFORMED);
  });

  it("is refused with two cookies that are both configured", () => {
    const sources = [{ cookie: "a" }, { cookie: "b" }];
    expect(read({ cookie: "a=a.b.c; b=d.e.f" }, sources)).toEqual(MALFORMED);
    expect(read({ cookie: "b=d.e.f" }, sources)).toEqual(token("d.e.f"));
  });
});

describe("a token of the header that is malformed", () => {
  it("is never one that could be accepted", () => {
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
          expect(formMistakeOf(encoded, 16_384) ?? readJwt(encoded)).toBe("malformed");
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("the query string", () => {
  it.each(["/agents?access_token=a.b.c", "/agents?authorization=Bearer%20a.b.c", "/agents?token=a.b.c"])(
    "is never read: %j (RFC 6750 section 5.3)",
    (target) => {
      expect(read({ target }, BOTH)).toEqual(MISSING);
      expect(read({ target, authorization: "Bearer d.e.f" }, BOTH)).toEqual(token("d.e.f"));
    },
  );
});
