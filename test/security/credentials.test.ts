import { describe, expect, it, vi } from "vitest";
import { readCredential } from "../../src/core/token/credential.ts";
import { CREDENTIAL_CASES, outcomeOf } from "./credentials.ts";

describe("ResourceServer.check", () => {
  it.each(CREDENTIAL_CASES.map((row) => [row.expected, row.name, row] as const))(
    "returns %s for a request with %s",
    async (expected, _, row) => {
      expect(await outcomeOf(row)).toBe(expected);
    },
  );
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
        tokenSources: [{ header: "authorization" }, { cookie: "access_token" }],
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
