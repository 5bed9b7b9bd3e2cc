/** The cost of a route with many paths, counted in operations on the whole path. */
import { createServer } from "node:http";
import express5 from "express";
import express4 from "express4";
import { afterEach, expect, it, vi } from "vitest";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

afterEach(() => vi.restoreAllMocks());

/** Counts how often a long string is put into one letter case, which the comparison with a pattern needs. */
function countFolds(): () => number {
  let count = 0;
  vi.spyOn(String.prototype, "toUpperCase").mockImplementation(function (this: string) {
    if (this.length > 1_000) count += 1;
    return this.toLocaleUpperCase("en");
  });
  return () => count;
}

it.each([
  ["Express 5", express5],
  ["Express 4", express4 as unknown as typeof express5],
])("reads a path once for all paths of a route in %s", async (_, express) => {
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [createIssuer().publicPem],
    scopeMappings: { "GET /{*path}": "public" },
  });
  const app = express();
  app.use(protect(server));
  const paths = Array.from({ length: 200 }, (_path, index) => `/pages/page-${index}`);
  app.get([...paths, "/pages/:name"], (_request, response) => void response.send("ok"));
  const { port, close } = await listen(createServer(app));
  const path = `/pages/${"A".repeat(5_000)}`;
  // The first request reads the patterns.
  expect((await ask(port, { path })).status).toBe(200);
  const folds = countFolds();
  expect((await ask(port, { path })).status).toBe(200);
  expect(folds()).toBeLessThan(10);
  await close();
});

it("refuses a path that middleware has rewritten to one that routers read differently", async () => {
  const server = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [createIssuer().publicPem],
    scopeMappings: { "GET /{*path}": "public" },
  });
  const app = express5();
  app.use(protect(server), (request, _response, next) => {
    request.url = "/pages/a;b";
    next();
  });
  app.get(["/pages/all", "/pages/:name"], (_request, response) => void response.send("ok"));
  const { port, close } = await listen(createServer(app));
  expect((await ask(port, { path: "/pages/a" })).status).toBe(400);
  await close();
});
