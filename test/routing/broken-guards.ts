/** Guards with a hole each, for Express: what the harness must report. */
import type { Request } from "express";
import { type ResourceServer } from "scopegate";
import { type Guard, NO_GUARD } from "./configuration.ts";

interface Read {
  readonly method: string;
  readonly target: string;
}

/** A guard that checks what `read` makes of a request; nothing where it makes nothing of it. */
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
  "is not there": () => NO_GUARD,
  "ignores letter case in front of a router that minds it": (server) =>
    reading(server, ({ method, url }) => ({ method, target: url.toLowerCase() })),
  "decodes before it checks": (server) =>
    reading(server, ({ method, url }) => ({ method, target: attempt(() => decodeURI(url)) ?? url })),
  "checks the path that a URL parser makes of it": (server) =>
    reading(server, ({ method, url }) => ({ method, target: attempt(() => normalised(url)) ?? url })),
  "lets OPTIONS through": (server) =>
    reading(server, ({ method, url }) => (method === "OPTIONS" ? undefined : { method, target: url })),
  "takes every method for GET": (server) => reading(server, ({ url }) => ({ method: "GET", target: url })),
  "lets pass what it has no rule for": (server) =>
    reading(server, ({ method, url }) => {
      const { decision } = server.explain({ method, path: url });
      return !decision.allowed && decision.reason === "route_unmapped" ? undefined : { method, target: url };
    }),
};

export const faulty: Guard = {
  ...NO_GUARD,
  express: () => (_request, _response, next) => next(new Error("The guard has a fault.")),
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
