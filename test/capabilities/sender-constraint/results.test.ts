import { describe, expect, it } from "vitest";
import { missingProof, PROVED, rejectProof } from "../../../src/capabilities/sender-constraint/results.ts";

describe("the result of a proof", () => {
  it("contains only the facts that are known", () => {
    expect(PROVED).toStrictEqual({ kind: "proved" });
    expect(missingProof("No header.")).toStrictEqual({ kind: "missing", cause: "No header." });
    expect(missingProof("No header.", "dpop")).toStrictEqual({
      kind: "missing",
      binding: "dpop",
      cause: "No header.",
    });
    expect(rejectProof("htm")).toStrictEqual({ kind: "rejected", proofRejection: "htm" });
    expect(rejectProof("htu", "Another path.")).toStrictEqual({
      kind: "rejected",
      proofRejection: "htu",
      cause: "Another path.",
    });
  });
});
