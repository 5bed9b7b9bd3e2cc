/** Runs the programs of the MCP server in their own processes, as a user does. */
import { describe, expect, it } from "vitest";
import { askMcp } from "../support/http.ts";
import { follow, readAll, start, stop } from "./program.ts";

const run = (program: string, ...args: readonly string[]) =>
  start(`examples/mcp-server/${program}.ts`, ...args);

describe.concurrent("npm run demo:mcp", () => {
  it.each(["express", "fastify", "hono"])(
    "receives every expected result in %s and exits with 0",
    async (host) => {
      const { code, out } = await readAll(run("demo", host));
      expect(code).toBe(0);
      expect(out).toContain("10. ");
      expect(out).toContain("All results are as expected.");
      expect(out).not.toMatch(/ey[\w-]+\.ey[\w-]+\./);
    },
  );

  it("prints its usage for an unknown framework", async () => {
    expect(await readAll(run("demo", "flask"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("Usage:") as string,
    });
  });
});

describe("npm run start:mcp", () => {
  it("prints tokens that its tools accept, logs each decision and stops cleanly", async () => {
    const program = run("main", "hono", "--port", "0");
    const { until } = follow(program);
    const [, url = ""] = await until(
      /^The MCP server listens on (\S+) \(hono\)\. 6 routes, each with a rule\.$/m,
    );
    const [, token] = await until(/^RUNNER=(\S+)$/m);
    await until(/^(Decisions:)$/m);
    const runAgent = (agent_id: string) => {
      const params = { name: "run_agent", arguments: { agent_id, input: "hello" } };
      return askMcp(Number(new URL(url).port), "tools/call", params, token);
    };
    expect(await runAgent("web")).toMatchObject({ status: 200 });
    expect(await runAgent("data")).toMatchObject({ status: 403 });
    await until(/^POST \/mcp (refused scope_insufficient .*missing=agents:data:run tools\/call run_agent)$/m);
    expect(await stop(program)).toBe(0);
  });
});
