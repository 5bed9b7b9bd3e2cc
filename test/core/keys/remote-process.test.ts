/** Fetching keys neither ends a process nor keeps it alive. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Behaviour, behave, createFaultServer, type FaultServer } from "../../support/fault-server.ts";
import { first } from "../../support/key-issuer.ts";
import { setOf } from "../../support/remote-keys.ts";
import { CHILD_LIMIT } from "../../support/child-limit.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

let issuer: FaultServer;
beforeEach(async () => (issuer = await createFaultServer()));
afterEach(() => issuer.stop());

/** Runs a program that uses `server` with remote keys, and returns its output. The program must end by itself. */
async function run(code: string, keys: object = {}): Promise<string> {
  const source = JSON.stringify({ jwksUri: `${issuer.url}/jwks`, ...keys });
  const program = `
    import { createResourceServer } from "./src/complete/index.ts";
    const server = createResourceServer({ serviceId: "agents-prod", keys: ${source}, onKeyEvent: () => {} });
    ${code}`;
  const options = ["--import", "tsx", "--input-type", "module", "--eval", program];
  let output = "";
  const child = execFile(process.execPath, options, { ...CHILD_LIMIT, cwd: ROOT });
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

/** The global `fetch` rejects it, and then does not handle errors of its body. */
const ENCODINGS = { "content-encoding": Array(6).fill("gzip").join(), "content-length": 100_000 };
const begin = (then: (request: IncomingMessage) => void): Behaviour => {
  return (request, response) => {
    response.writeHead(200, ENCODINGS);
    response.write(Buffer.alloc(50_000, " "), () => then(request));
  };
};

const hostile: Readonly<Record<string, Behaviour>> = {
  "/encodings": (_request, response) =>
    void response.writeHead(200, ENCODINGS).end(Buffer.alloc(100_000, " ")),
  "/encodings-then-reset": begin(({ socket }) => void socket.resetAndDestroy()),
  "/encodings-then-end": begin(({ socket }) => void socket.end()),
  "/encodings-then-nothing": begin(() => undefined),
  "/gzip-then-reset": (request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.write(gzipSync("{}").subarray(0, 15), () => void request.socket.resetAndDestroy());
  },
  "/no-gzip": behave.json({}, { headers: { "content-encoding": "gzip" } }),
  "/reset": behave.reset(),
  "/upgrade": ({ socket }) =>
    void socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ),
  "/status-999": ({ socket }) => void socket.end("HTTP/1.1 999 Canary\r\n\r\n"),
  "/huge-header": ({ socket }) => void socket.end(`HTTP/1.1 200 OK\r\na: ${"a".repeat(100_000)}\r\n\r\n`),
  "/two-lengths": ({ socket }) =>
    void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
  "/bad-chunk": ({ socket }) =>
    void socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n"),
};

describe("a program whose issuer sends hostile responses", () => {
  it("stays alive", async () => {
    for (const [path, behaviour] of Object.entries(hostile)) issuer.answer(path, behaviour);
    const code = `
      const paths = ${JSON.stringify(Object.keys(hostile))};
      const results = await Promise.all(paths.map(async (path) => {
        const keys = { jwksUri: "${issuer.url}" + path, timeoutMs: 500 };
        const failing = createResourceServer({ serviceId: "agents-prod", keys, onKeyEvent: () => {} });
        const ready = await failing.ready().catch(({ name }) => name);
        const authenticated = await failing.authenticate("${await first.token()}").catch(({ name }) => name);
        return [ready, authenticated];
      }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      console.log([...new Set(results.flat())].join());`;
    expect(await run(code)).toBe("KeysUnavailableError\n0");
    for (const path of Object.keys(hostile)) expect(issuer.asked(path)).toBe(1);
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
});
