import type { ScopeMappings } from "scopegate";
import { protectMcp } from "scopegate/mcp";
import { createMcpResourceServer, TABLE, tokenOf, type User } from "./tools.ts";

/** The caller, as a handler behind `protectMcp` receives it. */
export async function enter(user: User, scopeMappings: ScopeMappings = TABLE) {
  const gate = protectMcp(createMcpResourceServer({ ...scopeMappings }));
  const headers = { authorization: `Bearer ${await tokenOf(user)}`, "content-type": "application/json" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const access = await gate(new Request("https://api.example/mcp", { method: "POST", headers, body }));
  if (!("authInfo" in access)) throw new Error("Refused.");
  return access.authInfo;
}
