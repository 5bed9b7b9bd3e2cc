/** The metadata of a resource server (RFC 9728), in front of the guard. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/http.ts";
import { createServer as createResourceServer } from "../support/resource-servers.ts";
import { applications, type Running } from "./applications.ts";

const ID = "https://api.example/mcp";
const server = createResourceServer({
  serviceId: ID,
  resource: { id: ID, authorizationServers: ["https://login.example/"] },
});
const PATH = "/.well-known/oauth-protected-resource/mcp";

// NestJS serves it with the adapter of its platform.
const adapters = applications.filter(({ name }) => !name.startsWith("NestJS"));

describe.each(adapters)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await application.start({ server, routes: [], metadata: true });
  });
  afterAll(() => running.close());

  it("serves the metadata to everybody and every origin, and allows caching", async () => {
    const { port } = running;
    for (const path of [PATH, `http://127.0.0.1:${port}${PATH}`]) {
      const { status, headers, body } = await ask(port, { path });
      expect(status).toBe(200);
      expect(body).toMatchObject({ resource: ID, authorization_servers: ["https://login.example/"] });
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["cache-control"]).toBe("public, max-age=3600");
      expect(headers["access-control-allow-origin"]).toBe("*");
    }
    expect(await ask(port, { method: "HEAD", path: PATH })).toMatchObject({ status: 200, text: "" });
    const preflight = await ask(port, { method: "OPTIONS", path: PATH });
    expect(preflight.status).toBe(200);
    expect(preflight.headers["access-control-allow-headers"]).toBe("*");
    expect(preflight.headers["access-control-allow-methods"]).toBe("GET, HEAD, OPTIONS");
  });

  it("passes every other request on to the guard", async () => {
    const { port } = running;
    for (const path of ["/.well-known/oauth-protected-resource", `${PATH}/`, `${PATH}?x`, PATH.toUpperCase()])
      expect([400, 403]).toContain((await ask(port, { path })).status);
    expect((await ask(port, { method: "POST", path: PATH })).status).toBe(403);
  });

  it("throws at boot without the option resource", async () => {
    const starting = application.start({ server: createResourceServer({}), routes: [], metadata: true });
    await expect(starting).rejects.toThrow("needs the option `resource`");
  });
});
