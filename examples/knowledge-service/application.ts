import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo } from "node:net";
import { type ListedRoute } from "scopegate";
import { problem } from "./problem.ts";

/** The service in one framework, ready to be started. */
export interface Application {
  /** Every route that it has, once all of them are registered. */
  readonly routes: () => Promise<Iterable<ListedRoute>>;
  /** Listens on loopback; port 0 lets the system choose. Returns the port. */
  readonly listen: (port: number) => Promise<number>;
  /** Finishes the requests under way and stops. */
  readonly close: () => Promise<void>;
}

/** An application from the listener that Express and Koa are, and its routes. */
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
      server.close();
      server.closeIdleConnections();
      await once(server, "close");
    },
  };
}

/** The status of an error that a body parser throws for what a client sent; 500 for every other error. */
export function statusOf(error: unknown): number {
  const { status, statusCode } = error as { readonly status?: unknown; readonly statusCode?: unknown };
  const given = status ?? statusCode;
  return typeof given === "number" && given >= 400 && given < 500 ? given : 500;
}

/** The body for such an error: fixed words, whatever the error says. */
export const faultBody = (status: number): object =>
  status === 500
    ? { type: "about:blank", title: "Internal Server Error", status, detail: "The service failed." }
    : { ...problem(400, "The body cannot be read."), status };
