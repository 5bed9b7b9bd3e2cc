/** Attacks on MCP servers and clients, against `protectMcp`. */
import express from "express";
import { expect, onTestFinished } from "vitest";
import { protectMcp } from "scopegate/mcp";
import { HOSTS, openHost } from "../../adapters/mcp/support/hosts.ts";
import { createMcpResourceServer, tokenOf, TOOLS } from "../../adapters/mcp/support/tools.ts";
import { serve } from "../../support/frameworks.ts";
import { askMcp } from "../../support/http.ts";
import { itPrevents } from "./prevents.ts";

itPrevents("CVE-2026-25536", async () => {
  for (const host of HOSTS) {
    const { port, backend, close } = await openHost(host, createMcpResourceServer());
    onTestFinished(close);
    const users = ["reader", "runner", "reader", "runner", "runner", "reader"] as const;
    const tokens = { reader: await tokenOf("reader"), runner: await tokenOf("runner") };
    const answers = await Promise.all(
      users.map((user) => askMcp(port, "tools/call", { name: "search", arguments: {} }, tokens[user])),
    );
    // The tool says whether its caller may run another one, which only `runner` may.
    for (const [index, { text }] of answers.entries())
      expect(text, host.name).toContain(`may run web: ${users[index] === "runner"}`);
    expect(backend.executions.map(({ user }) => user).sort(), host.name).toEqual([...users].sort());
  }
});

itPrevents("CVE-2025-7339", async () => {
  const app = express().use(protectMcp(createMcpResourceServer(), { listFilter: true }));
  const tools = TOOLS.map((name) => ({ name }));
  app.post("/mcp", (_request, response) => {
    response.writeHead(200, ["content-type", "application/json", "x-kept", "yes"]);
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
  });
  const { headers, body } = await askMcp(await serve(app), "tools/list", {}, await tokenOf("reader"));
  expect(headers).toMatchObject({ "content-type": "application/json", "x-kept": "yes" });
  expect(body).toMatchObject({ result: { tools: [{ name: "search" }] } });
});
