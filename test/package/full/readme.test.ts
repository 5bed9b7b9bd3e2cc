/** The first screen of README.md, with the packed package: its install line, its server and its commands. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageOf } from "../../documentation/markdown.ts";
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
  const { blocks, prose } = pageOf("README.md");
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
    const [, statuses = ""] = /They return ([\d, and]+):/.exec(prose) ?? [];
    const requests = await requestsOf(commands, mint, "not shown");
    const answers = [];
    for (const request of requests) answers.push((await send(Number(String(port)), request)).status);
    expect(answers.length).toBeGreaterThanOrEqual(4);
    expect(answers).toEqual(statuses.match(/\d+/g)?.map(Number));
  } finally {
    child.kill();
    await once(child, "close");
  }

  // The command reads the server that the page has stopped.
  writeFileSync(join(project, "server.mjs"), String(server?.code));
  const key = String(start?.code).replace("node server.mjs", "");
  const explain = blockWith("sh", "scopegate explain")?.code ?? "";
  const explained = runChild("sh", ["-c", `${key}${explain}`], { cwd: project });
  expect(explained.stdout).toBe(blockWith("text", "decision")?.code);
}, 300_000);
