/** Other spellings of a path than that of the table. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statusWith } from "../support/frameworks.ts";
import { applications, type Route, type Running } from "./applications.ts";
import { createServer } from "./service.ts";

const PATHS = ["/docs", "/docs/static/:file", "/pages/", "/maybe/", "/agents/me", "/agents/:id"];
const routes: readonly Route[] = PATHS.map((path) => ({ method: "GET", path, handle: () => path }));

const server = createServer({
  scopeMappings: {
    "GET /docs{/*path}": "public",
    "GET /pages": "public",
    "GET /maybe": "optional",
    "GET /:page": ["pages:read"],
    "GET /agents/me": [],
    "GET /agents/:id": ["agents:<id>:read"],
  },
});

/** The adapters whose guard does not know which route runs. */
const WITHOUT_ROUTES = ["Fetch", "Node without a framework"];

describe.each(applications)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await application.start({ server, routes });
  });
  afterAll(() => running.close());

  it.each(["/docs", "/docs/static/a.css"])(
    "serves the public subtree at %s without a token",
    async (path) => {
      expect(await statusWith(running.port, path)).toBe(200);
    },
  );

  const hasRoutes = !WITHOUT_ROUTES.includes(application.name);
  // NestJS removes the slash.
  const isServed = hasRoutes && !application.name.startsWith("NestJS");

  it.runIf(isServed).each(["/pages/", "/maybe/"])(
    "serves the route %s as it is written, although its open rule is written without a slash",
    async (path) => {
      expect(await statusWith(running.port, path)).toBe(200);
    },
  );

  it.runIf(!hasRoutes)("refuses another slash than that of the table if no route is checked", async () => {
    expect(await statusWith(running.port, "/pages/")).toBe(400);
  });

  it.each(["/agents/ME", "/agents/m%65"])(
    "requires for %s every rule that a router may apply to it",
    async (path) => {
      expect(await statusWith(running.port, "/agents/me", [])).toBe(200);
      expect(await statusWith(running.port, path, [])).toBe(hasRoutes ? 403 : 400);
      expect(await statusWith(running.port, path, ["agents:read"])).toBe(hasRoutes ? 200 : 400);
    },
  );
});
