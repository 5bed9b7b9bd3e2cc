/** nginx and Caddy ask the program of the page about each request. The requests of Envoy are replayed. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { pageOf, ROOT } from "../documentation/markdown.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";
import { ask, type Asked, listen } from "../support/http.ts";
import { PROXIES, replaceOnce, startProxy } from "../support/proxies.ts";
import { issuer } from "../support/resource-servers.ts";
import { certificates, closeAfterwards, closing } from "./setup.ts";

closeAfterwards();

const PROGRAM = join(ROOT, "examples/complete/external-authorization.mts");
const PRELOAD = fileURLToPath(new URL("../support/report-port.ts", import.meta.url));
const { blocks } = pageOf("docs/guides/other-languages.md");

/** Starts the program for a proxy, and returns its port. */
async function startProgram(proxy: string): Promise<number> {
  const child = fork(PROGRAM, {
    ...CHILD_LIMIT,
    execArgv: ["--import", import.meta.resolve("tsx"), "--import", PRELOAD],
    env: { ...process.env, PROXY: proxy, JWT_PUBLIC_KEY: issuer.publicPem },
  });
  const [port] = (await once(child, "message")) as [number];
  const close = async (): Promise<void> => {
    child.kill();
    await once(child, "exit");
  };
  return closing({ port, close }).port;
}

/**
 * A service that trusts its proxy: it returns the target and the user that it received. As a CGI program does, it
 * reads `X_User` as `X-User`.
 */
async function startService(): Promise<number> {
  const service = createServer(({ url, headers }, response) => {
    const users = [headers["x-user"], headers["x_user"]].filter(Boolean);
    response.end(JSON.stringify({ url, user: users.join(), upgrade: headers.upgrade }));
  });
  return closing(await listen(service)).port;
}

/** The configuration of the page, in the block of a site. */
function configurationFor(name: string, sign: string, program: number, service: number) {
  const found = blocks.filter(({ code }) => code.includes(sign));
  expect(found).toHaveLength(1);
  const rules = replaceOnce(
    replaceOnce(found[0]?.code ?? "", "127.0.0.1:9000", `127.0.0.1:${program}`),
    "127.0.0.1:8000",
    `127.0.0.1:${service}`,
  );
  return (port: number) =>
    name === "nginx"
      ? `server {\nlisten 127.0.0.1:${port};\n${rules}}`
      : `http://127.0.0.1:${port} {\nbind 127.0.0.1\n${rules}}`;
}

const tokenWith = (...scopes: readonly string[]): Promise<string> =>
  issuer.token({ aud: "orders", sub: "user 1", scopes, exp: Math.floor(Date.now() / 1000) + 60 });

const SIGNS = { nginx: "auth_request ", Caddy: "forward_auth " };
const HOSTS = PROXIES.flatMap(({ name, isInstalled }) =>
  name === "HAProxy" ? [] : [{ name, isInstalled, sign: SIGNS[name] }],
);

describe.each(HOSTS)("$name asks the program", ({ name, isInstalled, sign }) => {
  describe.skipIf(!isInstalled)("about each request, which", () => {
    let send: (asked: Asked) => Promise<{ readonly status: number; readonly body: unknown }>;
    beforeAll(async () => {
      const [program, service] = [await startProgram(name.toLowerCase()), await startService()];
      const configuration = configurationFor(name, sign, program, service);
      const { port } = closing(await startProxy({ name, configuration, certificates }));
      send = (asked) => ask(port, asked);
    });

    it("reaches the service with the caller if the token has the scope", async () => {
      const token = await tokenWith("stores:berlin:read");
      const path = "/stores/berlin/orders?page=2";
      expect(await send({ path, token })).toMatchObject({
        status: 200,
        body: { url: path, user: "user%201" },
      });
    });

    it("gets 401 without a token, and 403 for another store, another method and a path without a rule", async () => {
      const token = await tokenWith("stores:berlin:read");
      const statuses = await Promise.all(
        [
          { path: "/stores/berlin/orders" },
          { path: "/stores/oslo/orders", token },
          { path: "/stores/berlin/orders", token, method: "POST", body: {} },
          { path: "/elsewhere", token },
        ].map(async (asked) => (await send(asked)).status),
      );
      expect(statuses).toEqual([401, 403, 403, 403]);
    });

    it("needs no token for a public path, and can't name its own caller there", async () => {
      const answer = await send({ path: "/health", headers: [["X-User", "admin"]] });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ user: "" });
      const fields = [
        ["X_User", "admin"],
        ["Connection", "X-User"],
      ] as const;
      expect((await send({ path: "/health", headers: fields })).body).toMatchObject({ user: "" });
      const token = await tokenWith("orders:read");
      expect((await send({ path: "/orders", token, headers: fields })).body).toMatchObject({
        user: "user%201",
      });
    });

    it("can't become a connection on which nothing is checked", async () => {
      const headers = [
        ["Connection", "Upgrade"],
        ["Upgrade", "h2c"],
        ["HTTP2-Settings", "AAMAAABkAAQAAP__"],
      ] as const;
      const { status, body } = await send({ path: "/health", headers });
      expect([status, body]).toEqual([200, { url: "/health", user: "" }]);
    });

    it("is decided by its own method and path, whatever its fields say", async () => {
      const headers = ["X-Original-URI", "X-Forwarded-Uri", "X-Original-Method", "X-Forwarded-Method"].map(
        (field) => [field, field.endsWith("Method") ? "GET" : "/health"] as const,
      );
      const path = "/stores/berlin/orders";
      expect((await send({ path, headers })).status).toBe(401);
      expect((await send({ path, headers: [...headers, ...headers] })).status).toBe(401);
    });

    it.each([
      "/stores/berlin/../oslo/orders",
      "/stores/berlin%2F..%2Foslo/orders",
      "/health/../stores/oslo/orders",
      "//stores/oslo/orders",
      "/Stores/oslo/orders",
      "/stores/%6fslo/orders",
      "/stores/oslo/orders/",
    ])("doesn't reach the orders of Oslo by another spelling: %s", async (path) => {
      const { status } = await send({ path, token: await tokenWith("stores:berlin:read") });
      expect([400, 401, 403, 404]).toContain(status);
    });
  });
});

describe("Envoy asks the program", () => {
  it("with the method, the path and the token of the client, and sends its response to the client", async () => {
    const port = await startProgram("envoy");
    const token = await tokenWith("orders:read");
    const allowed = await ask(port, { path: "/orders?page=2", token });
    expect([allowed.status, allowed.headers["x-user"]]).toEqual([200, "user%201"]);
    const refused = await ask(port, { method: "POST", path: "/orders", token, body: {} });
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ code: "route_unmapped" }),
    ]);
    const headers = [["x-original-uri", "/health"] as const];
    expect(await ask(port, { path: "/orders", headers })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": expect.stringContaining("Bearer") as string },
    });
  });
});

it("doesn't start the program without the name of a proxy", async () => {
  const child = fork(PROGRAM, {
    ...CHILD_LIMIT,
    execArgv: ["--import", import.meta.resolve("tsx")],
    env: { ...process.env, PROXY: "", JWT_PUBLIC_KEY: issuer.publicPem },
    silent: true,
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, "close")) as [number];
  expect([code, errors]).toEqual([1, expect.stringContaining("Set PROXY to nginx, caddy, envoy.")]);
});
