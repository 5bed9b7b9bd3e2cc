/** xmcp compiles the files of a folder to a handler of Express. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import express, { type RequestHandler } from "express";
import { type HandlerExtra, principalOf, protectMcp } from "scopegate/mcp";
import { TOOLS } from "../../adapters/mcp/support/tools.ts";
import { LONG_CHILD_LIMIT } from "../../support/child-limit.ts";
import { listenNode, MODULES, type Program } from "./host.ts";

const CONFIG = {
  http: true,
  paths: { tools: "tools", prompts: false, resources: false },
  experimental: { adapter: "express" },
  typescript: { skipTypeCheck: true },
};

/** The compiler puts a copy of every import into the handler: so the tool reaches this file by a global function. */
const toolFile = (name: string): string => `import { z } from "zod";
export const metadata = { name: "${name}" };
export const schema = { agent_id: z.string().optional() };
export default (args, extra) => globalThis.runXmcpTool("${name}", args, extra);
`;

function compile(folder: string): RequestHandler {
  symlinkSync(MODULES, join(folder, "node_modules"));
  mkdirSync(join(folder, "tools"));
  for (const name of TOOLS) writeFileSync(join(folder, "tools", `${name}.ts`), toolFile(name));
  writeFileSync(join(folder, "xmcp.config.ts"), `export default ${JSON.stringify(CONFIG)};`);
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(folder, "tsconfig.json"), "{}");
  execFileSync(process.execPath, [join(MODULES, "xmcp/dist/cli.js"), "build"], {
    ...LONG_CHILD_LIMIT,
    cwd: folder,
    stdio: "pipe",
  });
  const load = createRequire(join(folder, "package.json"));
  return (load("./.xmcp/adapter/index.js") as { readonly xmcpHandler: RequestHandler }).xmcpHandler;
}

export const start: Program["start"] = async (server, runTool) => {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-xmcp-"));
  const xmcpHandler = compile(folder);
  rmSync(folder, { recursive: true });
  const runXmcpTool = (name: string, args: object, extra: HandlerExtra) =>
    runTool(name, args, principalOf(extra));
  Object.assign(globalThis, { runXmcpTool });
  const app = express();
  app.use("/mcp", protectMcp(server));
  app.all("/mcp", xmcpHandler);
  return listenNode(app);
};
