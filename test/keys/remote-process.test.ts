/** Fetching keys does not keep a process alive. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { behave, createFaultServer, type FaultServer } from "../support/fault-server.ts";
import { createIssuer } from "../support/issuer.ts";
import { createRemote, setOf } from "../support/remote-keys.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const first = createIssuer({ kid: "first" });

let issuer: FaultServer;
beforeEach(async () => (issuer = await createFaultServer()));
afterEach(() => issuer.stop());

/** Runs a program that uses `server` with remote keys, and returns its output. The program must end by itself. */
async function run(code: string, keys: object = {}): Promise<string> {
  const source = JSON.stringify({ jwksUri: `${issuer.url}/jwks`, ...keys });
  const program = `
    import { createResourceServer } from "./src/index.ts";
    const server = createResourceServer({ serviceId: "agents-prod", keys: ${source}, onKeyEvent: () => {} });
    ${code}`;
  const options = ["--import", "tsx", "--input-type", "module", "--eval", program];
  let output = "";
  const child = execFile(process.execPath, options, { cwd: ROOT, timeout: 25_000 });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: string) => (output += text));
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  return `${output}${status ?? signal}`;
}

describe("a program that does not close its server", () => {
  it("ends after its keys were fetched", async () => {
    issuer.answer("/jwks", behave.json(setOf(first)));
    expect(await run(`await server.ready(); console.log("ready");`)).toBe("ready\n0");
    expect(issuer.asked("/jwks")).toBe(1);
  });

  it("ends although the next retry is scheduled", async () => {
    issuer.answer("/jwks", behave.status(500));
    const code = `await server.ready().catch(({ name }) => console.log(name));`;
    expect(await run(code, { cooldownMs: 0 })).toBe("KeysUnavailableError\n0");
  });

  it("ends at the time limit of a running fetch", async () => {
    issuer.answer("/jwks", behave.never());
    const code = `await server.ready().catch(({ name }) => console.log(name));`;
    expect(await run(code, { timeoutMs: 100 })).toBe("KeysUnavailableError\n0");
  });
});

describe("close()", () => {
  it("lets a program end during a fetch", async () => {
    issuer.answer("/jwks", behave.never());
    const gate = behave.held(behave.status(204));
    issuer.answer("/gate", gate);
    const code = `server.ready().catch(({ name }) => console.log(name));
      await fetch("${issuer.url}/gate");
      await server.close();`;
    const ended = run(code, { timeoutMs: 86_400_000 });
    await issuer.whenAsked("/jwks", 1);
    gate.release();
    expect(await ended).toBe("KeysUnavailableError\n0");
  });

  it("closes the connection of a running fetch", async () => {
    issuer.answer("/jwks", behave.drip(setOf(first)));
    const { server, verdict } = createRemote({ jwksUri: `${issuer.url}/jwks` });
    const waiting = verdict(await first.token());
    await issuer.whenAsked("/jwks", 1);
    await server.close();
    expect(await waiting).toBe("unavailable");
    await issuer.whenIdle();
  });
});
