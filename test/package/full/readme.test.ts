/** The first screen of README.md, with the packed package: its install line, its server and its commands. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageOf, responsesOf } from "../../documentation/markdown.ts";
import { send } from "../../documentation/serve.ts";
import { requestsOf } from "../../documentation/shell.ts";
import { findPacked } from "../packed.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { LONG_CHILD_LIMIT, runChild } from "../../support/child-limit.ts";

const project = temporaryFolder("readme");

/** Runs a command of the page, and returns what it printed. */
function run(command: string): string {
  const { status, stdout, stderr } = runChild("sh", ["-c", command], { cwd: project });
  expect(status, `${command}\n${stderr}`).toBe(0);
  return stdout.trim();
}

it("installs, starts and responds as README.md shows, for a reader who copies it", async () => {
  const { blocks } = pageOf("README.md");
  const blockWith = (language: string, part: string) =>
    blocks.find((block) => block.language === language && block.code.includes(part));
  const install = blockWith("sh", "npm install");
  const start = blockWith("sh", "node server.mjs");
  const server = blockWith("js", "app.listen");
  const commands = blocks.filter(({ code }) => code.includes("curl "));
  expect(install?.code).toBe("npm install scopegate express\n");
  writeFileSync(join(project, "package.json"), "{}");
  run(String(install?.code).replace(" scopegate ", ` ${findPacked().tarball} `));

  // Another server may listen on the port of the page.
  const code = String(server?.code).replace("app.listen(3000)", "const own = app.listen(0)");
  const report = 'own.on("listening", () => console.log(own.address().port));';
  writeFileSync(join(project, "server.mjs"), `${code}\n${report}`);
  const child = spawn("sh", ["-c", String(start?.code).replace("node server.mjs", "exec node server.mjs")], {
    ...LONG_CHILD_LIMIT,
    cwd: project,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port] = (await once(child.stdout, "data")) as [Buffer];
    const mint = (args: readonly string[]) =>
      Promise.resolve(run(`npx scopegate token ${args.map((arg) => `'${arg}'`).join(" ")}`));
    const requests = await requestsOf(commands, mint, responsesOf(pageOf("README.md")));
    expect(requests.length).toBeGreaterThanOrEqual(5);
    for (const request of requests) {
      const { status, text } = await send(Number(String(port)), request);
      expect(status, request.text).toBe(request.expected.statuses[0]);
      if (request.expected.body !== undefined) expect(JSON.parse(text)).toEqual(request.expected.body);
    }
  } finally {
    child.kill();
    await once(child, "close");
  }
}, 300_000);
