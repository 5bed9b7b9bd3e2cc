/** The public server "everything", unchanged, behind the starter of a gateway with the table of the guide. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTestIssuer } from "scopegate/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";
import { temporaryFolder } from "../support/folder.ts";
import { listen } from "../support/http.ts";
import { type Gateway, startGateway } from "./gateway/programs.ts";

const PROGRAM = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
const issuer = createTestIssuer({ algorithm: "RS256", audience: "http://localhost:3000/mcp" });
const folder = temporaryFolder("everything");

describe.skipIf(!existsSync(PROGRAM))("the server everything behind the gateway", () => {
  let child: ChildProcess;
  let gateway: Gateway;

  beforeAll(async () => {
    const { port, close } = await listen(createServer());
    await close();
    child = spawn(process.execPath, [PROGRAM, "streamableHttp"], {
      ...LONG_CHILD_LIMIT,
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    await new Promise<void>((resolve, reject) => {
      for (const output of [child.stdout, child.stderr])
        if (output)
          createInterface({ input: output }).on("line", (line) => {
            if (line.includes("listening")) resolve();
          });
      child.once("exit", () => reject(new Error("The server did not start.")));
    });
    gateway = await startGateway(folder, {
      JWT_PUBLIC_KEY: issuer.key.verificationKey,
      POLICY: "everything.json",
      UPSTREAM: `http://127.0.0.1:${port}/mcp`,
    });
  });
  afterAll(async () => {
    await gateway.stop();
    child.kill();
    await once(child, "exit");
  });

  async function open(...scopes: string[]): Promise<Client> {
    const headers = { authorization: `Bearer ${await issuer.token({ userId: "user-1", scopes })}` };
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: { headers } }),
    );
    return client;
  }

  it("serves what its table allows in a session, and refuses all other tools", async () => {
    const client = await open("math:use");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("get-env");
    const sum = await client.callTool({ name: "get-sum", arguments: { a: 2, b: 3 } });
    expect(JSON.stringify(sum)).toContain("The sum of 2 and 3 is 5");
    expect(JSON.stringify(await client.callTool({ name: "echo", arguments: { message: "hi" } }))).toContain(
      "hi",
    );
    for (const name of ["get-env", "trigger-long-running-operation"])
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow(/403|scope/i);
    await expect(
      client.readResource({ uri: "demo://resource/static/document/features.md" }),
    ).rejects.toThrow();
    await client.close();
  });

  it("serves prompts and resources by their rules", async () => {
    const client = await open("documents:read");
    const { resources } = await client.listResources();
    const [first] = resources.filter(({ uri }) => uri.startsWith("demo://resource/static/document/"));
    expect((await client.readResource({ uri: first?.uri ?? "" })).contents).toHaveLength(1);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain("simple-prompt");
    expect((await client.getPrompt({ name: "simple-prompt" })).messages).not.toEqual([]);
    await expect(client.callTool({ name: "get-sum", arguments: { a: 1, b: 1 } })).rejects.toThrow(
      /403|scope/i,
    );
    await client.close();
  });
});
