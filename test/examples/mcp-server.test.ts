/** Runs the programs of the MCP server in their own processes, as a user does. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { CHILD_LIMIT } from "../support/child-limit.ts";

const cwd = fileURLToPath(new URL("../..", import.meta.url));
const argumentsOf = (program: string, ...args: readonly string[]): string[] => [
  "--import",
  "tsx",
  `examples/mcp-server/${program}.ts`,
  ...args,
];
const execute = promisify(execFile);

describe.concurrent("npm run demo:mcp", () => {
  it.each(["express", "fastify", "hono"])(
    "receives every expected result in %s and exits with 0",
    async (host) => {
      const { stdout } = await execute(process.execPath, argumentsOf("demo", host), { ...CHILD_LIMIT, cwd });
      expect(stdout).toContain("10. ");
      expect(stdout).toContain("All results are as expected.");
      expect(stdout).not.toMatch(/ey[\w-]+\.ey[\w-]+\./);
    },
  );

  it("prints its usage for an unknown host", async () => {
    const run = execute(process.execPath, argumentsOf("demo", "flask"), { ...CHILD_LIMIT, cwd });
    await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("Usage:") as string });
  });
});

describe("npm run start:mcp", () => {
  it("prints tokens that its tools accept, logs each decision and stops cleanly", async () => {
    const program = spawn(process.execPath, argumentsOf("main", "hono", "--port", "0"), {
      ...CHILD_LIMIT,
      cwd,
    });
    let printed = "";
    program.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const until = async (pattern: RegExp): Promise<string> => {
      for (;;) {
        const found = pattern.exec(printed)?.[1];
        if (found !== undefined) return found;
        await once(program.stdout, "data");
      }
    };
    const url = await until(/^The MCP server listens on (\S+) \(hono\)\. 5 routes, each with a rule\.$/m);
    const token = await until(/^RUNNER=(\S+)$/m);
    await until(/^(Decisions:)$/m);
    const run = async (agent_id: string): Promise<number> => {
      const params = { name: "run_agent", arguments: { agent_id, input: "hello" } };
      const response = await fetch(url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      });
      await response.text();
      return response.status;
    };
    expect(await run("web")).toBe(200);
    expect(await run("data")).toBe(403);
    await until(/^POST \/mcp (refused scope_insufficient .*missing=agents:data:run tools\/call run_agent)$/m);
    program.kill("SIGTERM");
    expect(await once(program, "close")).toEqual([0, null]);
  });
});
