/** The issuer for development, with real servers and clients on loopback. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer, Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createResourceServer } from "scopegate";
import { remoteKeys } from "scopegate/keys";
import { createTestIssuer } from "scopegate/testing";
import { untilStopped } from "../../../src/tools/cli/signals.ts";
import { CHILD_LIMIT } from "../../support/child-limit.ts";
import { verdictOf } from "../../support/resource-servers.ts";
import { fileOf, folder, mistakesOf, outputOf, scopegate, useFolder } from "./support.ts";
import { startIssuer } from "./start-issuer.ts";
import { HAS_IPV6 } from "../../support/ipv6.ts";

useFolder();

const keyFile = () => join(folder, `key-${Math.random()}.pem`);

/** Starts the command on a free port until the end of the test. */
async function start(key = keyFile()) {
  const issuer = await startIssuer(key);
  onTestFinished(async () => {
    await issuer.stop();
  });
  return { ...issuer, key };
}

/** Creates a resource server as README.md does. */
function serverFor(url: string) {
  const server = createResourceServer({
    issuer: url,
    audience: "orders",
    keys: remoteKeys({ discovery: true }),
    requiredClaims: ["exp"],
    onKeyEvent: () => undefined,
  });
  onTestFinished(() => server.close());
  return server;
}

/** Lets servers fail to listen on an address. */
function failOn(address: string, code: string) {
  const listen = Reflect.get(Server.prototype, "listen") as (...args: readonly unknown[]) => Server;
  return vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    if (args[1] !== address) return listen.apply(this, args);
    setImmediate(() => this.emit("error", Object.assign(new Error(code), { code })));
    return this;
  });
}

describe("scopegate issuer", () => {
  it("serves keys for which a resource server accepts the tokens of `scopegate token`, and no others", async () => {
    const { url, key } = await start();
    expect(url).toMatch(/^http:\/\/localhost:\d+$/);
    const server = serverFor(url);
    const token = async (line: string) => (await outputOf(`token --key ${key} ${line}`)).trim();
    const accepted = await server.authenticate(await token(`--iss ${url} --aud orders --scope orders:read`));
    expect(accepted).toMatchObject({ userId: "user-1", issuer: url, scopes: ["orders:read"] });
    expect(await verdictOf(server, await token(`--iss ${url} --aud reports`))).toBe("audience");
    expect(await verdictOf(server, await token("--aud orders"))).toBe("issuer");
    const [, kid = ""] = /"kid": "([^"]+)"/.exec(await outputOf(`token --jwks --key ${key}`)) ?? [];
    expect(kid).toMatch(/^development-[\w-]{8}$/);
    const foreign = createTestIssuer({ issuer: url, audience: "orders", algorithm: "RS256", kid });
    expect(await verdictOf(server, await foreign.token())).toBe("signature");
  });

  it("gives each key a `kid` of its own", async () => {
    const { url } = await start();
    const token = (await outputOf(`token --key ${keyFile()} --iss ${url} --aud orders`)).trim();
    expect(await verdictOf(serverFor(url), token)).toBe("key");
  });

  it("publishes only the public key, and both discovery documents", async () => {
    const { url, key } = await start();
    const read = async (path: string) => (await fetch(url + path)).json();
    const jwks_uri = `${url}/.well-known/jwks.json`;
    for (const name of ["openid-configuration", "oauth-authorization-server"])
      expect(await read(`/.well-known/${name}`)).toEqual({ issuer: url, jwks_uri });
    const printed = JSON.parse(await outputOf(`token --jwks --key ${key}`)) as object;
    expect(await read("/.well-known/jwks.json")).toEqual(printed);
    expect(JSON.stringify(printed)).not.toMatch(/"(?:d|p|q)"/);
  });

  it("creates the key like `scopegate token`, and prints what to write next", async () => {
    const key = keyFile();
    const first = await start(key);
    expect(first.notes()).toBe(
      `scopegate: created ${key}. It's only for development: don't commit it.\n` +
        `scopegate: The issuer ${first.url} runs until Ctrl+C. Configure your server, and create a token:\n` +
        `  export ISSUER=${first.url}\n` +
        `  npx scopegate token --iss ${first.url} --aud orders --scope orders:read --key ${JSON.stringify(key)}\n`,
    );
    const second = await start(key);
    expect(second.notes()).not.toContain("created");
  });

  it("listens only on loopback, on the same port of every address of `localhost`", async () => {
    const listen = vi.spyOn(Server.prototype, "listen");
    const { url } = await start();
    const addresses = listen.mock.contexts.map((server) => (server as Server).address() as AddressInfo);
    expect(addresses.map(({ address }) => address)).toEqual(["127.0.0.1", ...(HAS_IPV6 ? ["::1"] : [])]);
    for (const { address, port } of addresses) {
      expect(url).toBe(`http://localhost:${port}`);
      const request = get(`${url}/.well-known/jwks.json`, {
        lookup: (_name, _options, respond) => respond(null, [{ address, family: address === "::1" ? 6 : 4 }]),
      });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      expect(response.resume().statusCode).toBe(200);
    }
  });

  it("serves on a machine without IPv6", async () => {
    failOn("::1", "EADDRNOTAVAIL");
    const { url } = await start();
    expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(200);
  });

  it("refuses a port that another program uses, on any address of `localhost`", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const mistakeOf = (used: number) =>
      `Port ${used} can't be used (EADDRINUSE): write another one, or --port 0 for a free one.`;
    expect(await mistakesOf(`issuer --port ${port} --key ${keyFile()}`)).toContain(mistakeOf(port));
    const listen = failOn("::1", "EADDRINUSE");
    expect(await mistakesOf(`issuer --port 0 --key ${keyFile()}`)).toContain(mistakeOf(0));
    // The first address is free again.
    expect(listen.mock.contexts.map((server) => (server as Server).listening)).toEqual([false, false]);
  });

  it("uses port 4400 and the key of `scopegate token` in the working directory without options", async () => {
    failOn("127.0.0.1", "EADDRINUSE");
    expect(await mistakesOf(`issuer --key ${keyFile()}`)).toContain("Port 4400 can't be used");
    vi.restoreAllMocks();
    const directory = process.cwd();
    onTestFinished(() => process.chdir(directory));
    process.chdir(folder);
    const key = "scopegate-development-key.pem";
    const { notes } = await scopegate("issuer --port 0");
    expect(notes).toContain(`created ${key}.`);
    expect(notes).toMatch(/--scope orders:read\n$/);
    expect((await scopegate("token")).notes).toBe("");
  });

  it.each(["http", "65536", "-1", "1.5", "1e3"])("refuses the port %s", async (port) => {
    expect(await mistakesOf(`issuer --port=${port} --key ${keyFile()}`)).toContain(
      "--port takes a number up to 65535: write --port 4400.",
    );
  });

  it("refuses production before it creates a key, and a key of another algorithm", async () => {
    const key = keyFile();
    const line = `issuer --port 0 --key ${key}`;
    expect(await mistakesOf(line, { env: { NODE_ENV: "production" } })).toContain("unset NODE_ENV");
    expect(existsSync(key)).toBe(false);
    await outputOf(`token --key ${key} --config ${fileOf({ service_id: "a", algorithm: "ES256" })}`);
    expect(await mistakesOf(line)).toContain("RS256");
  });

  it("closes its port when it's stopped, and prints its URL as JSON", async () => {
    const { url, stop } = await start();
    expect(await stop()).toEqual({ code: 0, out: "Stopped.\n" });
    await expect(fetch(url)).rejects.toThrow();
    const json = JSON.parse(await outputOf(`issuer --port 0 --json --key ${keyFile()}`)) as object;
    expect(json).toEqual({
      issuer: expect.stringMatching(/^http:\/\/localhost:\d+$/) as string,
      jwks_uri: expect.stringMatching(/\/\.well-known\/jwks\.json$/) as string,
    });
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "removes its listeners for signals after the first %s",
    async (signal) => {
      const listeners = () => ["SIGINT", "SIGTERM"].map((name) => process.listeners(name as NodeJS.Signals));
      const before = listeners();
      const stopped = untilStopped();
      // Not those of the test runner.
      const [stop] = process.listeners(signal).filter((listener) => !before.flat().includes(listener));
      stop?.(signal);
      await stopped;
      expect(listeners()).toEqual(before);
    },
  );

  it.each(["SIGINT", "SIGTERM"] as const)("runs until the process receives %s", async (signal) => {
    const source = (file: string) =>
      JSON.stringify(new URL(`../../../src/tools/${file}`, import.meta.url).href);
    const program = join(folder, `${signal}.mts`);
    writeFileSync(
      program,
      `import { untilStopped } from ${source("cli/signals.ts")};
      import { openKeyServer } from ${source("testing/key-server.ts")};
      const server = await openKeyServer({ jwks: { keys: [] } }, { localhostPort: 0 });
      console.log(server.url);
      await untilStopped();
      await server.close();
      console.log("closed");`,
    );
    const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), program], {
      ...CHILD_LIMIT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    await once(child.stdout, "data");
    const url = out.trim();
    expect((await fetch(`${url}/.well-known/jwks.json`)).status).toBe(200);
    child.kill(signal);
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, out }).toEqual({ code: 0, out: `${url}\nclosed\n` });
  });
});
