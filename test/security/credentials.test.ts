import { describe, expect, it, vi } from "vitest";
import { readCredential } from "../../src/token/credential.ts";
import { CREDENTIAL_CASES, outcomeOf } from "./credentials.ts";

describe("a request whose credential is", () => {
  it.each(CREDENTIAL_CASES.map((row) => [row.name, row.expected, row] as const))(
    "%s: %s",
    async (_, expected, row) => {
      expect(await outcomeOf(row)).toBe(expected);
    },
  );
});

/** Elapsed time would say it only on an idle machine. A stand-in for a text tells who reads it. */
describe("a credential beyond the limit", () => {
  const read = (request: object) =>
    readCredential(
      { method: "GET", target: "/", ...request },
      [{ header: "authorization" }, { cookie: "access_token" }],
      16_384,
    );

  it("is read in the header only at the first seven characters, for its scheme", () => {
    const slice = vi.fn(() => "Bearer ");
    expect(read({ authorization: [{ length: 16_392, slice }] })).toEqual({ kind: "too_large" });
    expect(slice.mock.calls).toEqual([[0, 7]]);
  });

  it("is not read in a cookie", () => {
    expect(read({ cookie: { length: 10_000_000 } })).toEqual({ kind: "too_large" });
  });
});
