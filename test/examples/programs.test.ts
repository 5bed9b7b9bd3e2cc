/** Runs the programs of the example in their own processes, as a user does. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../support/issuer.ts";
import { openOpenIdProvider, RESOURCE } from "../support/openid-provider.ts";
import { REDIS_URL } from "../support/redis.ts";
import { keepBusy } from "../support/busy-client.ts";
import { ask } from "../support/http.ts";
import { follow, type Program, readAll, start, stop } from "./program.ts";
import { temporaryFolder } from "../support/folder.ts";

const folder = temporaryFolder("programs");

/** Writes a configuration with the key of an issuer, and returns its file. */
function configure(service_id: string, more: object = {}, issuer = createIssuer()): string {
  const file = join(folder, `${service_id}.json`);
  writeFileSync(join(folder, `${service_id}.pem`), issuer.publicPem);
  writeFileSync(file, JSON.stringify({ service_id, verification_key_file: `${service_id}.pem`, ...more }));
  return file;
}

const statusAt = async (url = "", path: string, token?: string): Promise<number> =>
  (await ask(Number(new URL(url).port), { path, token })).status;

const run = (program: string, ...args: readonly string[]): Program =>
  start(`examples/knowledge-service/${program}.ts`, ...args);

describe.concurrent("npm run demo", () => {
  it.each(["express", "koa", "fastify", "hono", "fetch", "nest"])(
    "receives every expected result in %s and exits with 0",
    async (framework) => {
      const { code, out } = await readAll(run("demo", framework));
      expect(out).toContain("All results are as expected.");
      expect(out).toContain('WWW-Authenticate: Bearer error="insufficient_scope"');
      expect(out).toMatch(/of the second issuer, the control plane\n {3}GET \S+ -> 200/);
      expect(out).toMatch(/signed by the backend\n {3}GET \S+ -> 401/);
      expect(out).not.toMatch(/ey[\w-]+\.ey[\w-]+\./);
      expect(code).toBe(0);
    },
  );
});

describe.skipIf(!REDIS_URL)("npm run demo with --store", () => {
  it("shows that another service rejects the revoked token", async () => {
    const { code, out } = await readAll(run("demo", "express", "--store", REDIS_URL ?? ""));
    expect(out).toMatch(/another service that shares the store -> 401 after \d+ ms/);
    expect(code).toBe(0);
  });
});

describe.concurrent("npm start", () => {
  it.each([
    ["express", "SIGINT"],
    ["koa", "SIGTERM"],
    ["fastify", "SIGTERM"],
    ["fetch", "SIGTERM"],
    ["nest", "SIGTERM"],
  ] as const)(
    "serves requests in %s, logs each decision and stops on %s while a client keeps its connection busy",
    async (framework, signal) => {
      const program = run("main", framework, "--port", "0");
      const output = follow(program);
      const [, url] = await output.until(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
      const [, reader] = await output.until(/^READER=(\S+)$/m);
      await output.until(/^Decisions:$/m);
      expect(await statusAt(url, "/knowledge/config", reader)).toBe(200);
      expect(await statusAt(url, `/agents?token=${reader}`)).toBe(401);
      await output.until(
        /^GET \/knowledge\/config allowed rule="GET \/knowledge\/config" \(default\) user="reader-1"$/m,
      );
      await output.until(
        /^GET \/agents refused credential_missing rule="GET \/agents" \(default\) user=null$/m,
      );
      expect(output.text().split("Decisions:")[1]).not.toContain(reader);
      await keepBusy(Number(new URL(url ?? "").port), "/agents").responses(3);
      const since = performance.now();
      expect(await stop(program, signal)).toBe(0);
      // Sooner than the ten seconds after which connections are closed.
      expect(performance.now() - since).toBeLessThan(9_000);
    },
  );

  it("accepts another configuration, without the development issuer", async () => {
    const issuer = createIssuer();
    const program = run("main", "--config", configure("other-service", {}, issuer), "--port", "0");
    const output = follow(program);
    const [, url] = await output.until(/listens on (\S+) \(express\)/);
    const token = await issuer.token({ scopes: ["agents:read"], aud: "other-service" });
    expect(await statusAt(url, "/agents", token)).toBe(200);
    expect(output.text()).not.toContain("READER=");
    await stop(program);
  });

  it("accepts tokens of a discovered issuer, without the development issuer", async () => {
    const provider = await openOpenIdProvider();
    const program = run("main", "--issuer", provider.issuer, "--audience", RESOURCE, "--port", "0");
    const output = follow(program);
    const [, url] = await output.until(/listens on (\S+) \(express\)/);
    await output.until(new RegExp(`^It accepts tokens of ${provider.issuer} for ${RESOURCE}\\.$`, "m"));
    const status = async (scope: string) =>
      statusAt(url, "/knowledge/config", await provider.token({ scope }));
    expect(await status("knowledge:read")).toBe(200);
    expect(await status("agents:read")).toBe(403);
    expect(output.text()).toContain(`Keys fetched source=${provider.issuer}/`);
    expect(output.text()).not.toContain("READER=");
    expect(await stop(program)).toBe(0);
    await provider.close();
  });

  it("does not start if the issuer is unreachable, and prints the issuer and the error", async () => {
    const provider = await openOpenIdProvider();
    await provider.close();
    const { code, err, out } = await readAll(run("main", "--issuer", provider.issuer, "--port", "0"));
    expect(err).toContain(`Keys are unavailable. ${provider.issuer}: `);
    expect(err).toContain("can't be fetched (ECONNREFUSED).");
    expect(out).not.toContain("listens");
    expect(code).toBe(1);
  });

  it.each([
    [["flask"], "Usage: npm start"],
    [["--port", "high"], "--port must be a number from 0 to 65535"],
    [["--colour"], "Usage: npm start"],
    [["--issuer", "http://issuer.example"], "https URL"],
    [
      ["--issuer", "https://issuer.example", "--config", "x.json"],
      "--issuer cannot be combined with --config",
    ],
    [["--audience", "agents"], "--audience requires --issuer"],
  ])("prints an error and its usage for %j", async (args, text) => {
    const { code, err } = await readAll(run("main", ...args));
    expect(err).toContain(text);
    expect(code).toBe(1);
  });

  it("prints a rule that no route uses", async () => {
    const file = configure("unreached", { scope_mappings: { "GET /helth": "public" } });
    const program = run("main", "--config", file, "--port", "0");
    const [printed] = await follow(program).until(/rule_unreached: .*/);
    expect(printed).toContain("no route reaches the rule `GET /helth`");
    await stop(program);
  });

  it("does not start with an invalid configuration, and prints its issues", async () => {
    const file = configure("wrong", { service_ids: "x", scope_mappings: { "get /x": [] } });
    const { code, err, out } = await readAll(run("main", "--config", file, "--port", "0"));
    expect(err).toContain("Did you mean `service_id`?");
    expect(out).not.toContain("listens");
    expect(code).toBe(1);
  });
});
