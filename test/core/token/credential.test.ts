/** What the corpus of headers (test/corpora/headers.ts) cannot say: sizes, prototypes and requests from JavaScript. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessRequest } from "../../../src/core/request.ts";
import {
  isMalformed,
  readCredential,
  resolveTokenSources,
  type TokenSource,
} from "../../../src/core/token/credential.ts";
import { findFormMistake, readJwt } from "../../../src/core/token/jwt-parts.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const HEADER: readonly TokenSource[] = [{ header: "authorization" }];
const COOKIE: readonly TokenSource[] = [{ cookie: "access_token" }];
const BARE: readonly TokenSource[] = [{ header: "x-assertion", scheme: null }];
const SCHEME: TokenSource = { header: "authorization", scheme: "Token" };
const MAX = 16_384;

function read(
  request: Partial<AccessRequest>,
  tokenSources = HEADER,
  multipleCredentials: "refuse" | "first" = "refuse",
): string {
  const rules = { tokenSources: resolveTokenSources(tokenSources), maxTokenBytes: MAX, multipleCredentials };
  const credential = readCredential({ method: "GET", target: "/agents", ...request }, rules);
  return credential.kind === "token" ? `token ${credential.token}` : credential.kind;
}

const longest = "a".repeat(MAX);
const assertion = (value: string | readonly string[]) => ({ headers: { "x-assertion": value } });
/** The largest cookies besides the token: RFC 6265 section 6.1. */
const manyCookies = "access_token=a; x=".padEnd(50 * 4096 + MAX, "y");

describe("readCredential", () => {
  it.each<readonly [string, Partial<AccessRequest>, readonly TokenSource[], string]>([
    ["an array of one field", { authorization: ["Bearer a.b.c"] }, HEADER, "token a.b.c"],
    ["an array of one malformed field", { authorization: ["Bearer"] }, HEADER, "malformed"],
    ["an empty array", { authorization: [] }, HEADER, "missing"],
    ["undefined", { authorization: undefined }, HEADER, "missing"],
    ["a cookie with the name of the header", { cookie: "authorization=a.b.c" }, HEADER, "missing"],
    [
      "a cookie with a name of Object.prototype",
      { cookie: "__proto__=a" },
      [{ cookie: "__proto__" }],
      "token a",
    ],
    ["blanks around the name and the value", { cookie: "a=b;\t access_token \t=\t a \t" }, COOKIE, "token a"],
    ["other white space in the value", { cookie: "access_token=\u00a0a" }, COOKIE, "token \u00a0a"],
    ["one of two schemes", { authorization: "Bearer a" }, [SCHEME, ...HEADER], "token a"],
    ["a field of a prototype", { headers: Object.create({ "x-assertion": "a" }) as never }, BARE, "missing"],
    ["another field", { headers: { "x-other": "a.b.c" } }, BARE, "missing"],
    [
      "tokens in two fields",
      { ...assertion("a"), authorization: "Bearer b" },
      [...BARE, ...HEADER],
      "malformed",
    ],
  ])("reads %s", (_, request, sources, expected) => {
    expect(read(request, sources)).toBe(expected);
  });

  it.each(["/agents?access_token=a.b.c", "/agents?authorization=Bearer%20a.b.c", "/agents?token=a.b.c"])(
    "reads no token in the query: %j (RFC 6750 section 5.3)",
    (target) => {
      expect(read({ target }, [...HEADER, ...COOKIE])).toBe("missing");
      expect(read({ target, authorization: "Bearer d.e.f" }, [...HEADER, ...COOKIE])).toBe("token d.e.f");
    },
  );

  it.each<readonly [string, Partial<AccessRequest>, readonly TokenSource[], string]>([
    ["the header with maxTokenBytes", { authorization: `Bearer ${longest}` }, HEADER, `token ${longest}`],
    ["one byte more", { authorization: `bearer ${longest}a` }, HEADER, "too_large"],
    ["one space more", { authorization: `Bearer  ${longest}` }, HEADER, "too_large"],
    ["another field with maxTokenBytes", assertion(longest), BARE, `token ${longest}`],
    ["one byte more in another field", assertion(`${longest}a`), BARE, "too_large"],
    ["a cookie with maxTokenBytes", { cookie: `x=y; access_token=${longest}` }, COOKIE, `token ${longest}`],
    ["one byte more in a cookie", { cookie: `x=y; access_token=${longest}a` }, COOKIE, "too_large"],
    ["all cookies that a user agent may send", { cookie: manyCookies }, COOKIE, "token a"],
    ["one byte more in all cookies", { cookie: `${manyCookies}y` }, COOKIE, "too_large"],
  ])("limits the size of %s", (_, request, sources, expected) => {
    expect(read(request, sources)).toBe(expected);
  });

  it('does not try the next source after one that is too large, with `multipleCredentials: "first"`', () => {
    const both = { authorization: `Bearer ${longest}a`, cookie: "access_token=d.e.f" };
    expect(read(both, [...HEADER, ...COOKIE], "first")).toBe("too_large");
  });
});

it.each([true, false])("reads no cookie because of a polluted prototype, enumerable: %s", (isEnumerable) => {
  const request = { cookie: "session=a.b.c", authorization: "Bearer d.e.f" };
  const readWith = (sent: Partial<AccessRequest>) =>
    withPollution({ cookie: "session" }, () => read(sent), { isEnumerable });
  expect(readWith({ cookie: request.cookie })).toBe("missing");
  expect(readWith(request)).toBe("token d.e.f");
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
