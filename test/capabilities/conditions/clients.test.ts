import { describe, expect, it } from "vitest";
import { conditionIssues, resultFor } from "../../support/conditions.ts";

const LISTED = { clients: ["console", "worker"] } as const;

describe("the condition `clients`", () => {
  it.each([
    { client_id: "console" },
    { azp: "worker" },
    { cid: "console" },
    { client_id: "console", azp: "worker", cid: "console" },
  ])("accepts %j", (claims) => {
    expect(resultFor(LISTED, claims)).toBe("allowed");
  });

  it.each([
    {},
    { client_id: "other" },
    { client_id: "console", azp: "other" },
    { client_id: "console", cid: null },
    { client_id: ["console"] },
    { client_id: "" },
    { client_id: "Console" },
    { clientId: "console" },
    { sub: "console" },
  ])("refuses %j", (claims) => {
    expect(resultFor(LISTED, claims)).toBe("caller_not_allowed clients");
  });

  it.each(
    ([undefined, "console", [], [""], [5], ["console", 5], { anyOf: ["console"] }] as readonly unknown[]).map(
      (ids): readonly [unknown] => [ids],
    ),
  )("rejects %j", (clients) => {
    expect(conditionIssues({ clients }).join()).toContain("isn't an array of client ids");
  });
});
