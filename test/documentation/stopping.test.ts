/** Runs the handlers of SIGTERM as the pages print them, with clients that keep connections busy. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keepBusy } from "../support/busy-client.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";
import { temporaryFolder } from "../support/folder.ts";
import { programs, snippets } from "./snippets.ts";

const folder = temporaryFolder("stopping");

const handlers = [...snippets, ...programs].flatMap(({ name, code }) => {
  const handler = /^process\.once\("SIGTERM", \(\) => \{\n.*?^\}\);/ms.exec(code)?.[0];
  return handler === undefined ? [] : [{ name, handler }];
});

/** Starts a server whose responses take 10 ms, and never end for `/stream`. */
async function startProgram(name: string, handler: string) {
  const file = join(folder, `${name.replaceAll(/\W/g, "-")}.mjs`);
  writeFileSync(
    file,
    `import { createServer } from "node:http";
    const closed = { close: async () => console.log("closed") };
    const [server, decisions, redis, SHUTDOWN_MS] = [closed, closed, undefined, 10_000];
    const listening = createServer((request, response) => {
      if (request.url === "/stream") response.write("open");
      else setTimeout(() => response.end("x"), 10);
    });
    const listener = listening;
    ${handler}
    listening.listen(0, "127.0.0.1", () => console.log(listening.address().port));`,
  );
  const program = spawn(process.execPath, [file], { ...CHILD_LIMIT, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  program.stdout.on("data", (chunk: Buffer) => lines.push(...chunk.toString().trim().split("\n")));
  await once(program.stdout, "data");
  return { program, lines, port: Number(lines[0]) };
}

describe("the handler of SIGTERM", () => {
  it("is shown for each kind of program", () => {
    expect(handlers.map(({ name }) => name.replace(/:\d+$/, ""))).toEqual([
      "examples/complete/decision-log.mts",
      "examples/complete/deployment.mts",
      "examples/starters/mcp-gateway/server.mjs",
    ]);
  });

  it.each(handlers)("in $name ends while a client keeps its connection busy", async ({ name, handler }) => {
    const { program, lines, port } = await startProgram(name, handler);
    const client = keepBusy(port);
    await client.responses(3);
    const since = performance.now();
    program.kill("SIGTERM");
    const [code] = (await once(program, "close")) as [number | null];
    expect(code).toBe(0);
    // Sooner than the ten seconds after which connections are closed.
    expect(performance.now() - since).toBeLessThan(5_000);
    // The next connection is refused: no request was cut off.
    expect(await client.failed).toBe("ECONNREFUSED");
    expect(lines).toContain("closed");
  });

  it.each(handlers)(
    "in $name ends after a limited time if a response doesn't end",
    async ({ name, handler }) => {
      // With a shorter time.
      const { program, lines, port } = await startProgram(
        name,
        handler.replace(/10_000|Number\(SHUTDOWN_MS\)/, "100"),
      );
      const request = get({ host: "127.0.0.1", port, path: "/stream" });
      const [response] = (await once(request, "response")) as [NodeJS.ReadableStream];
      const isCut = expect(once(response.resume(), "end")).rejects.toThrow("aborted");
      program.kill("SIGTERM");
      const [code] = (await once(program, "close")) as [number | null];
      expect(code).toBe(0);
      await isCut;
      expect(lines).toContain("closed");
    },
  );
});
