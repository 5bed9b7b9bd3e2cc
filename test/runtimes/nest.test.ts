/** NestJS with its packages for GraphQL, microservices and gateways, instead of stand-ins for their contexts. */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { link, findPacked, unpack } from "../package/packed.ts";
import { ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import type { Running, Setup } from "./programs/nest.ts";
import { bundle } from "./runtimes.ts";
import { temporaryFolder } from "../support/folder.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const MODULES = join(HERE, "node_modules");
const project = temporaryFolder("nest");
const issuer = createIssuer();

describe.skipIf(!existsSync(join(MODULES, "@nestjs/graphql"))).each(["Express", "Fastify"] as const)(
  "NestJS on %s",
  (platform) => {
    let program: { readonly start: (setup: Setup) => Promise<Running> };
    const start = async (more: Partial<Setup> = {}): Promise<Running> => {
      const running = await program.start({ platform, publicPem: issuer.publicPem, ...more });
      onTestFinished(() => running.close());
      return running;
    };
    beforeAll(async () => {
      if (!existsSync(join(project, "node_modules"))) install();
      program = (await import(pathToFileURL(await bundle(project, "nest")).href)) as typeof program;
    });

    const query = async ({ port }: Running, field: string, scopes?: readonly string[], path = "/graphql") =>
      ask(port, {
        method: "POST",
        path,
        body: { query: `{ ${field} }` },
        token: scopes && (await issuer.token({ scopes })),
      });

    it("passes the caller of the HTTP request to a GraphQL resolver", async () => {
      const running = await start();
      const { status, body } = await query(running, "caller", ["graph:use"]);
      expect({ status, body }).toEqual({ status: 200, body: { data: { caller: "user-1" } } });
    });

    it("refuses GraphQL requests by the rule for their path, before a resolver runs", async () => {
      const running = await start();
      const missing = await query(running, "caller");
      expect(missing).toMatchObject({ status: 401, body: { code: "credential_missing" } });
      expect(missing.headers["www-authenticate"]).toBe("Bearer");
      expect((await query(running, "caller", [])).body).toMatchObject({ code: "scope_insufficient" });
      expect(running.ran).toEqual([]);
    });

    it("requires the scopes of a resolver, and reports missing scopes as a GraphQL error", async () => {
      const running = await start();
      const refused = await query(running, "secret", ["graph:use"]);
      expect(refused.body).toMatchObject({
        errors: [{ message: expect.stringContaining("scope") as string, path: ["secret"] }],
      });
      expect(running.ran).toEqual([]);
      const { body } = await query(running, "secret", ["graph:use", "secrets:read"]);
      expect(body).toEqual({ data: { secret: "a secret" } });
    });

    it("runs no resolver for a request that passed no guard of the platform", async () => {
      const running = await start({ isProtected: false });
      const { body } = await query(running, "caller", ["graph:use"]);
      expect(body).toMatchObject({
        errors: [{ message: expect.stringContaining("No guard has allowed the HTTP request") as string }],
      });
      expect(running.ran).toEqual([]);
    });

    it("runs no resolver for a public path below that of GraphQL", async () => {
      const running = await start();
      await query(running, "caller", undefined, "/graphql/hook");
      expect(running.ran).toEqual([]);
    });

    it("refuses the messages of a microservice with a clear error", async () => {
      const running = await start();
      await expect(running.send()).rejects.toBeDefined();
      expect(running.ran).toEqual([]);
      expect(running.errors.join()).toContain("a handler of type `rpc`: it has no HTTP request");
    });

    it("guards no microservice without inheritAppConfig, as documented", async () => {
      const running = await start({ inheritAppConfig: false });
      expect(await running.send()).toBe("from the microservice");
    });

    it("refuses the messages of a gateway with a clear error", async () => {
      const running = await start();
      const socket = new WebSocket(`ws://127.0.0.1:${running.port}/live`);
      await once(socket, "open");
      socket.send(JSON.stringify({ event: "ask", data: {} }));
      const [message] = (await once(socket, "message")) as [Buffer];
      socket.terminate();
      expect(JSON.parse(String(message))).toMatchObject({ event: "exception" });
      expect(running.ran).toEqual([]);
      expect(running.errors.join()).toContain("a handler of type `ws`: it has no HTTP request");
    });
  },
);

/** All packages of this folder, so that the package and the program have the same copy of NestJS. */
function install(): void {
  unpack(findPacked(), project);
  const { dependencies } = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8")) as {
    readonly dependencies: object;
  };
  link(project, Object.keys(dependencies), MODULES);
}
