import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListedRoute } from "scopegate/audit";
import { problem } from "./problem.ts";

/** The service in one framework, not yet listening. */
export interface Application {
  /** Resolves with every registered route. */
  readonly routes: () => Promise<Iterable<ListedRoute>>;
  /** Listens on 127.0.0.1 and returns the port. With port 0, the system chooses one. */
  readonly listen: (port: number) => Promise<number>;
  /** Finishes open requests and stops. */
  readonly close: () => Promise<void>;
}

/** Creates an application from a request listener (Express, Koa) and its routes. */
export function fromListener(listener: RequestListener, routes: Iterable<ListedRoute>): Application {
  const server = createServer(listener);
  return {
    routes: () => Promise.resolve(routes),
    listen: async (port) => {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    close: async () => {
      endConnections(server);
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * Ends each connection with its next response, and all others after ten seconds. Without this, a server never
 * closes while a client sends one request after another on the same connection.
 */
export function endConnections(server: Server): void {
  server.prependListener("request", (_request, response) => response.setHeader("Connection", "close"));
  setTimeout(() => server.closeAllConnections(), 10_000).unref();
}

/** Returns the 4xx status that a body parser gave an error, and 500 for every other error. */
export function statusOf(error: unknown): number {
  const { status, statusCode } = error as { readonly status?: unknown; readonly statusCode?: unknown };
  const given = status ?? statusCode;
  return typeof given === "number" && given >= 400 && given < 500 ? given : 500;
}

/**
 * The body of an error response. It never contains the message of the error, which could reveal internals.
 */
export const faultBody = (status: number): object =>
  status === 500
    ? { type: "about:blank", title: "Internal Server Error", status, detail: "The service failed." }
    : { ...problem(400, "The body cannot be read."), status };
