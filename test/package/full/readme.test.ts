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

/** Starts a program of the page, which `end` stops. */
function start(command: string, stderr: "inherit" | "pipe" = "inherit") {
  const child = spawn("sh", ["-c", command], {
    ...LONG_CHILD_LIMIT,
    cwd: project,
    stdio: ["ignore", "pipe", stderr],
  });
  const closed = once(child, "close");
  const end = async () => {
    child.kill();
    await closed;
  };
  return { child, end };
}

/** Runs a command of the page, and returns what it printed. */
function run(command: string, code = 0): string {
  const { status, stdout, stderr } = runChild("sh", ["-c", command], { cwd: project });
  expect(status, `${command}\n${stderr}`).toBe(code);
  return stdout.trim();
}

it("installs, starts and responds as README.md shows, for a reader who copies it", async () => {
  const { blocks, prose } = pageOf("README.md");
  const blockWith = (language: string, part: string) =>
    String(blocks.find((block) => block.language === language && block.code.includes(part))?.code);
  const server = blockWith("js", "app.listen");
  const commands = blocks.filter(({ code }) => code.includes("curl "));
  const install = blockWith("sh", "npm install");
  expect(install).toBe("npm install scopegate express\n");
  writeFileSync(join(project, "package.json"), "{}");
  run(install.replace(" scopegate ", ` ${findPacked().tarball} `));

  // Other programs may listen on the ports of the page. The signal must reach the program, and not npx.
  const issuerCommand = blockWith("sh", "npx scopegate issuer").trim();
  expect(issuerCommand).toBe("npx scopegate issuer");
  const issuer = start("exec node_modules/.bin/scopegate issuer --port 0", "pipe");
  const programs = [issuer];
  try {
    let notes = "";
    issuer.child.stderr?.on("data", (chunk: Buffer) => (notes += chunk.toString()));
    await expect.poll(() => notes).toMatch(/^ {2}export ISSUER=http:\/\/localhost:\d+$/m);
    const [issuerUrl = ""] = /http:\/\/localhost:\d+/.exec(notes) ?? [];
    const onFreePort = (text: string) => text.replaceAll("http://localhost:4400", issuerUrl);
    const code = server.replace("app.listen(3000)", "const own = app.listen(0)");
    const report = 'own.on("listening", () => console.log(own.address().port));';
    writeFileSync(join(project, "server.mjs"), `${code}\n${report}`);
    const startServer = onFreePort(blockWith("sh", "node server.mjs"));
    const service = start(startServer.replace("node server.mjs", "exec node server.mjs"));
    programs.push(service);
    const [port] = (await once(service.child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const mint = (args: readonly string[]) =>
      Promise.resolve(run(onFreePort(`npx scopegate token ${args.map((arg) => `'${arg}'`).join(" ")}`)));
    const [, statuses = ""] = /They return ([\d, and]+):/.exec(prose) ?? [];
    const requests = await requestsOf(commands, mint, "not shown");
    const answers = [];
    for (const request of requests) answers.push((await send(Number(String(port)), request)).status);
    expect(answers.length).toBeGreaterThanOrEqual(4);
    expect(answers).toEqual(statuses.match(/\d+/g)?.map(Number));

    // The command reads the server that the page has stopped.
    await service.end();
    writeFileSync(join(project, "server.mjs"), server);
    const environment = startServer.replace("node server.mjs", "");
    const explained = run(environment + blockWith("sh", "scopegate explain"), 1);
    expect(`${explained}\n`).toBe(blockWith("text", "decision"));
  } finally {
    await Promise.all(programs.map(({ end }) => end()));
  }
}, 300_000);
