import { describe, expect, it } from "vitest";
import { mayCall, principalOf } from "scopegate/mcp";
import { enter } from "./support/enter.ts";
import { TABLE } from "./support/tools.ts";

describe("mayCall", () => {
  it("decides by the table of the server that verified the token", async () => {
    const { principal } = (await enter("runner")).extra;
    expect(mayCall(principal, "tools/list")).toBe(true);
    expect(mayCall(principal, "tools/call", "search")).toBe(true);
    expect(mayCall(principal, "tools/call", "run_agent", { agent_id: "web" })).toBe(true);
    expect(mayCall(principal, "tools/call", "run_agent", { agent_id: "api" })).toBe(false);
    expect(mayCall(principal, "tools/call", "run_agent", { agent_id: ["web"] })).toBe(false);
    expect(mayCall(principal, "tools/call", "run_agent", {})).toBe(false);
    expect(mayCall(principal, "tools/call", "remove_agent")).toBe(false);
    expect(mayCall(principal, "prompts/list")).toBe(false);
  });

  it("reports without arguments whether some arguments are allowed", async () => {
    const table = { ...TABLE, "MCP tools/call run_agent": ["agents:<agent_id>:run"] };
    expect(mayCall((await enter("runner", table)).extra.principal, "tools/call", "run_agent")).toBe(true);
    expect(mayCall((await enter("reader", table)).extra.principal, "tools/call", "run_agent")).toBe(false);
  });

  it("throws for a caller that protectMcp did not pass on", async () => {
    const { principal } = (await enter("runner")).extra;
    expect(() => mayCall({ ...principal }, "tools/list")).toThrow("protectMcp");
  });
});

describe("principalOf", () => {
  it("finds the caller in what both lines pass to a handler", async () => {
    const authInfo = await enter("reader");
    expect(principalOf({ authInfo })?.userId).toBe("reader");
    expect(principalOf({ http: { authInfo } })?.userId).toBe("reader");
    expect(principalOf({})).toBeUndefined();
  });

  it.each([{}, { extra: {} }, { extra: { principal: { userId: "runner" } } }, { extra: null }])(
    "throws for the authInfo %j, which somebody else made",
    (authInfo) => {
      expect(() => principalOf({ authInfo })).toThrow("protectMcp");
    },
  );

  it("hides the token from logs", async () => {
    const authInfo = await enter("reader");
    expect(authInfo.token.split(".")).toHaveLength(3);
    expect(JSON.stringify(authInfo)).not.toContain(authInfo.token);
    expect(authInfo).toMatchObject({ scopes: ["docs:read"], clientId: "" });
  });
});
