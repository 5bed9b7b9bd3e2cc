import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/http.ts";
import { applications, type Route, type Running } from "./applications.ts";
import { createServer } from "./service.ts";

const routes: readonly Route[] = ["/docs", "/docs/static/:file", "/pages/", "/maybe/"].map((path) => ({
  method: "GET",
  path,
  handle: () => path,
}));

const server = createServer({
  scopeMappings: {
    "GET /docs{/*path}": "public",
    "GET /pages": "public",
    "GET /maybe": "optional",
    "GET /:page": ["pages:read"],
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
      expect((await ask(running.port, { path })).status).toBe(200);
    },
  );

  // NestJS removes the slash.
  const isServed = !WITHOUT_ROUTES.includes(application.name) && !application.name.startsWith("NestJS");

  it.runIf(isServed).each(["/pages/", "/maybe/"])(
    "serves the route %s as it is written, although its open rule is written without a slash",
    async (path) => {
      expect((await ask(running.port, { path })).status).toBe(200);
    },
  );

  it.runIf(WITHOUT_ROUTES.includes(application.name))(
    "refuses another slash than that of the table if no route is checked",
    async () => {
      expect((await ask(running.port, { path: "/pages/" })).status).toBe(400);
    },
  );
});
