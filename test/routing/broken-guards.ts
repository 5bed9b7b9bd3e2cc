/** Express guards with one defect each. The harness must report every defect. */
import type { Request } from "express";
import type { ResourceServer } from "scopegate";
import { explain } from "scopegate/explain";
import { type Guard, NO_GUARD } from "./configuration.ts";

interface Read {
  readonly method: string;
  readonly target: string;
}

/**
 * A guard that checks the method and target that `read` returns, and skips the check if `read` returns
 * `undefined`.
 */
const reading = (server: ResourceServer, read: (request: Request) => Read | undefined): Guard => ({
  ...NO_GUARD,
  express: () => (request, response, next) => {
    const checked = read(request);
    if (!checked) {
      next();
      return;
    }
    const { authorization } = request.headers;
    server
      .check({ ...checked, authorization })
      .then((decision) => (decision.allowed ? next() : response.status(403).end()), next);
  },
});

const normalised = (target: string): string => new URL(target, "http://service.example").pathname;

export const brokenGuards: Readonly<Record<string, (server: ResourceServer) => Guard>> = {
  "does nothing": () => NO_GUARD,
  "ignores letter case before a case-sensitive router": (server) =>
    reading(server, ({ method, url }) => ({ method, target: url.toLowerCase() })),
  "decodes the path before the check": (server) =>
    reading(server, ({ method, url }) => ({ method, target: attempt(() => decodeURI(url)) ?? url })),
  "checks the path after URL normalization": (server) =>
    reading(server, ({ method, url }) => ({ method, target: attempt(() => normalised(url)) ?? url })),
  "allows every OPTIONS request": (server) =>
    reading(server, ({ method, url }) => (method === "OPTIONS" ? undefined : { method, target: url })),
  "checks every method as GET": (server) => reading(server, ({ url }) => ({ method: "GET", target: url })),
  "allows requests without a matching rule": (server) =>
    reading(server, ({ method, url }) => {
      const { decision } = explain(server, { method, path: url });
      return !decision.allowed && decision.reason === "route_unmapped" ? undefined : { method, target: url };
    }),
};

export const faulty: Guard = {
  ...NO_GUARD,
  express: () => (_request, _response, next) => next(new Error("The guard failed.")),
};

export const refusing: Guard = {
  ...NO_GUARD,
  express: () => (_request, response) => void response.status(403).end(),
};

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
