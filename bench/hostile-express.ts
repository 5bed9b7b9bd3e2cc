/**
 * A request without a token to a public route of Express that is written with 200 paths. Express itself compares the path with
 * each of them, so the cost of the guard is the difference to the same application without it.
 */
import express from "express";
import { createServerWith } from "./hostile-requests.ts";
import type * as adapter from "scopegate/express";
import type { Contestant } from "./compare.ts";

const { protect } = (await import(new URL("../dist/express.js", import.meta.url).href)) as typeof adapter;

const server = createServerWith({ "GET /{*path}": "public" });
const PATHS = Array.from({ length: 200 }, (_, index) => `/pages/page-${index}`);

function createApplication(isGuarded: boolean): express.Express {
  const app = express();
  if (isGuarded) app.use(protect(server));
  app.get([...PATHS, "/pages/:name"], (_request, response) => void response.emit("handled"));
  return app;
}

/** Sends requests for a path of this many bytes, without a socket. */
export const expressContestants = (bytes: number): readonly Contestant[] =>
  [
    { name: "express, an array of 200 paths: without a guard", app: createApplication(false) },
    { name: "express, an array of 200 paths: guarded", app: createApplication(true) },
  ].map(({ name, app }) => ({
    name,
    run: async (calls) => {
      const url = `/pages/${"A".repeat(bytes)}`;
      for (let call = 0; call < calls; call += 1)
        await new Promise<void>((resolve, reject) => {
          const request = { method: "GET", url, originalUrl: url, headers: {}, rawHeaders: [] };
          const response = { emit: () => resolve(), setHeader: () => undefined };
          Reflect.apply(app, undefined, [request, response, reject]);
        });
    },
  }));
