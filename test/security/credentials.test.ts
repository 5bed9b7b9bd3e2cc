/** Credentials that differ from those of `test/core/token/credential.test.ts`: mostly, they are too large. */
import { describe, expect, it, vi } from "vitest";
import type { AccessRequest } from "scopegate";
import { readCredential, resolveTokenSources } from "../../src/core/token/credential.ts";
import { createServer, issuer } from "../support/resource-servers.ts";

const KB = 1_000;
const megabytes = (text: string): string => text.repeat(2_000 * KB);
const token = await issuer.token();
const authorization = `Bearer ${token}`;
const cookie = `access_token=${token}`;

const MALFORMED = "credential_malformed";
const MISSING = "credential_missing";

type Row = readonly [expected: string, name: string, request: Partial<AccessRequest>];

const headers: readonly Row[] = [
  ["allowed", "a valid token", { authorization }],
  [MALFORMED, "a vertical tab", { authorization: `Bearer\v${token}` }],
  [MALFORMED, "a leading line break", { authorization: `\r\n${authorization}` }],
  [MALFORMED, "a second line", { authorization: `${authorization}\r\nX-User: root` }],
  [MALFORMED, "a scheme with a Cyrillic letter", { authorization: `\u0412earer ${token}` }],
  [MALFORMED, "the scheme twice", { authorization: `Bearer ${authorization}` }],
  [MISSING, "another scheme before a comma", { authorization: `Basic dXNlcjpwYXNz, ${authorization}` }],
  ["malformed", "padding after the token, as token68 allows", { authorization: `${authorization}=` }],
  [MALFORMED, "a second field of megabytes", { authorization: [authorization, megabytes("a")] }],
  ["too_large", "megabytes", { authorization: `Bearer ${megabytes("a")}` }],
  ["too_large", "megabytes in an array", { authorization: [`Bearer ${megabytes("a")}`] }],
  ["too_large", "megabytes of dots", { authorization: `Bearer ${megabytes(".")}` }],
  ["too_large", "megabytes of spaces", { authorization: `Bearer ${megabytes(" ")}${token}` }],
  ["too_large", "megabytes that are not a token68", { authorization: `Bearer "${megabytes("a")}` }],
  [
    "too_large",
    "a valid token, a comma and megabytes",
    { authorization: `${authorization}, ${megabytes("a")}` },
  ],
  [MALFORMED, "megabytes without a space", { authorization: megabytes("a") }],
  [MALFORMED, "megabytes after a tab", { authorization: `Bearer\t${megabytes("a")}` }],
  [MISSING, "another scheme with many kilobytes", { authorization: `Negotiate ${"a".repeat(48 * KB)}` }],
];

const cookies: readonly Row[] = [
  ["allowed", "a valid token among kilobytes of cookies", { cookie: `${"a=b; ".repeat(2 * KB)}${cookie}` }],
  ["malformed", "a quotation mark at one end", { cookie: `access_token="${token}` }],
  ["malformed", "two quotation marks at both ends", { cookie: `access_token=""${token}""` }],
  ["malformed", "a scheme", { cookie: `access_token=${authorization}` }],
  [
    MALFORMED,
    "a second value that is too large",
    { cookie: `${cookie}; access_token=${"a".repeat(50 * KB)}` },
  ],
  ["too_large", "megabytes", { cookie: `access_token=${megabytes("a")}` }],
  ["too_large", "megabytes of empty cookies", { cookie: megabytes(";") }],
  ["too_large", "a valid token among megabytes of cookies", { cookie: `${megabytes("a=b; ")}${cookie}` }],
];

const both: readonly Row[] = [
  ["allowed", "a cookie and another scheme in the header", { authorization: "Basic dXNlcjpwYXNz", cookie }],
  [
    MALFORMED,
    "a valid cookie and a header of megabytes",
    { authorization: `Bearer ${megabytes("a")}`, cookie },
  ],
  [MALFORMED, "a valid header and cookies of megabytes", { authorization, cookie: megabytes(";") }],
];

describe.each([
  ["the Authorization header", [{ header: "authorization" }], headers],
  ["a cookie", [{ cookie: "access_token" }], cookies],
  ["the Authorization header and a cookie", [{ header: "authorization" }, { cookie: "access_token" }], both],
] as const)("ResourceServer.check with %s", (_, tokenSources, rows) => {
  const server = createServer({ scopeMappings: { "GET /agents": [] }, tokenSources });

  it.each(rows)("returns %s for %s", async (expected, _name, request) => {
    const decision = await server.check({ method: "GET", target: "/agents", ...request });
    expect(decision.allowed ? "allowed" : (decision.rejection ?? decision.reason)).toBe(expected);
  });
});

/**
 * Uses a stand-in for a string that records its calls, because elapsed time depends on the load of the
 * machine.
 */
describe("readCredential, given a credential over the size limit", () => {
  const read = (request: object) =>
    readCredential(
      { method: "GET", target: "/", ...request },
      {
        tokenSources: resolveTokenSources([{ header: "authorization" }, { cookie: "access_token" }], "DPoP"),
        maxTokenBytes: 16_384,
        multipleCredentials: "refuse",
      },
    );

  it("reads only the first seven characters of the header, for the scheme", () => {
    const slice = vi.fn(() => "Bearer ");
    expect(read({ authorization: [{ length: 16_392, slice }] })).toEqual({ kind: "too_large" });
    expect(slice.mock.calls).toEqual([[0, 7]]);
  });

  it("does not read the credential in a cookie", () => {
    expect(read({ cookie: { length: 10_000_000 } })).toEqual({ kind: "too_large" });
  });
});
