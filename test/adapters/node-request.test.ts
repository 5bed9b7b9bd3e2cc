import { describe, expect, it } from "vitest";
import { type NodeRequest, withCredential } from "../../src/adapters/node-request.ts";

const BARE = { method: "GET", target: "/" };

describe("the credential of a request", () => {
  it.each([
    ["nothing", undefined],
    ["an object without headers", {}],
  ])("is not read of %s: that is the request of another framework", (_, raw) => {
    expect(() => withCredential(raw as unknown as NodeRequest, BARE)).toThrow(/the adapter of this one/);
  });

  it("is every field of its name, as they were sent", () => {
    const raw: NodeRequest = {
      headers: { authorization: "Bearer a" },
      rawHeaders: ["Authorization", "Bearer a", "Host", "x", "AUTHORIZATION", "Bearer b"],
    };
    expect(withCredential(raw, BARE).authorization).toEqual(["Bearer a", "Bearer b"]);
  });
});
