import { describe, expect, it } from "vitest";
import { mayCall, principalOf, protectMcp } from "scopegate/mcp";
import { requestOf } from "./support/memory.ts";
import { createMcpResourceServer, tokenOf, type User } from "./support/tools.ts";

/** The caller, as a handler behind `protectMcp` receives it. */
async function enter(user: User) {
  const gate = protectMcp(createMcpResourceServer());
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const access = await gate(requestOf(ping, await tokenOf(user)));
  if (!("authInfo" in access)) throw new Error("Refused.");
  return access.authInfo;
}

describe("mayCall", () => {
  it("decides by the table of the server that verified the token", async () => {
    const { principal } = (await enter("runner")).extra;
    const allowed = (method: string, name?: string, args?: Readonly<Record<string, unknown>>) =>
      mayCall(principal, method, name, args);
    expect(allowed("tools/list")).toBe(true);
    expect(allowed("tools/call", "search")).toBe(true);
    expect(allowed("tools/call", "run_agent", { agent_id: "web" })).toBe(true);
    for (const args of [{ agent_id: "api" }, { agent_id: ["web"] }, {}])
      expect(allowed("tools/call", "run_agent", args)).toBe(false);
    expect(allowed("tools/call", "remove_agent")).toBe(false);
    expect(allowed("prompts/list")).toBe(false);
  });

  it("reports without arguments whether some arguments are allowed", async () => {
    expect(mayCall((await enter("runner")).extra.principal, "tools/call", "run_agent")).toBe(true);
    expect(mayCall((await enter("reader")).extra.principal, "tools/call", "run_agent")).toBe(false);
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
