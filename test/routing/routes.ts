/**
 * A route that every framework registers, in this order. Wider routes come first, so that a router that uses
 * the first match runs them.
 */
export interface StandardRoute {
  readonly method: "GET" | "POST" | "DELETE" | "ALL";
  /** In the syntax of path-to-regexp. The name of the handler is `METHOD /pattern`. */
  readonly path: string;
}

const route = (text: string): StandardRoute => {
  const [method = "", path = ""] = text.split(" ");
  return { method: method as StandardRoute["method"], path };
};

export const STANDARD_ROUTES: readonly StandardRoute[] = [
  "GET /",
  "GET /health",
  "GET /whoami",
  "GET /me",
  "GET /agents",
  "GET /agents/me",
  "GET /agents/:id",
  "POST /agents/:id",
  "DELETE /agents/:id",
  "POST /agents/:id/runs",
  "GET /pages/:page",
  "GET /pages/index",
  "GET /tools/:id",
  "GET /tools/kit",
  "GET /files/public/*path",
  "GET /files/*path",
  "GET /tree/*path",
  "GET /tree/leaf/*path",
  "ALL /anything/:id",
  "ALL /inbox",
  "GET /probe",
  "GET /spans/:from-:to",
  "GET /Reports/:id",
  "GET /optional{/:id}",
  "GET /internal",
  "GET /internal/:id",
  "GET /wide/*path",
].map(route);

export const nameOf = ({ method, path }: StandardRoute): string => `${method} ${path}`;

/** In the syntax of Express 4 and Fastify. */
export const withoutNames = (path: string): string =>
  path.replace(/\*\w+/g, "*").replace(/\{\/(:\w+)\}/g, "/$1?");
