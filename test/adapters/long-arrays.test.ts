/** The cost of a route with many paths, counted in operations on the whole path. */
import { expect, it, vi } from "vitest";
import { protect } from "scopegate/express";
import { EXPRESS_VERSIONS, serve, serverFor, statusWith } from "../support/frameworks.ts";

const server = serverFor({ "GET /{*path}": "public" });

/** Counts how often a long string is put into one letter case, which the comparison with a pattern needs. */
function countFolds(): () => number {
  let count = 0;
  vi.spyOn(String.prototype, "toUpperCase").mockImplementation(function (this: string) {
    if (this.length > 1_000) count += 1;
    return this.toLocaleUpperCase("en");
  });
  return () => count;
}

it.each(EXPRESS_VERSIONS)("reads a path once for all paths of a route in %s", async (_, express) => {
  const app = express();
  app.use(protect(server));
  const paths = Array.from({ length: 200 }, (_path, index) => `/pages/page-${index}`);
  app.get([...paths, "/pages/:name"], (_request, response) => void response.send("ok"));
  const port = await serve(app);
  const path = `/pages/${"A".repeat(5_000)}`;
  // The first request reads the patterns.
  expect(await statusWith(port, path)).toBe(200);
  const folds = countFolds();
  expect(await statusWith(port, path)).toBe(200);
  expect(folds()).toBeLessThan(10);
});
