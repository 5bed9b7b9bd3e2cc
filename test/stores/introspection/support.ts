/** An introspection endpoint whose answers tests choose, and a resource server that asks it. */
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import type { Decision } from "scopegate";
import { introspection, type IntrospectionOptions } from "scopegate/introspection";
import { type Behaviour, json } from "../../support/behaviours.ts";
import { listen } from "../../support/http.ts";
import { createServer, NOW } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

/** Appears in every token and secret here, and must appear nowhere else. */
export const CANARY = "canary";
export const TOKEN = `opaque-${CANARY}-1`;
export const CLIENT = { id: "agents client", secret: `s:${CANARY} é+%` } as const;

/** An answer for an active token. */
export const active = (changes: Readonly<Record<string, unknown>> = {}) => ({
  active: true,
  scope: "agents:read teams:read",
  sub: "u1",
  aud: "agents-prod",
  token_type: "Bearer",
  iat: NOW - 10,
  exp: NOW + 300,
  ...changes,
});

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly fields: URLSearchParams;
}

export interface Endpoint {
  readonly url: string;
  readonly received: readonly Received[];
  /** The number of connections that were opened. */
  readonly connections: () => number;
  readonly answer: (behaviour: Behaviour) => void;
  readonly close: () => Promise<void>;
}

/** Listens on a port that the system chooses, until the end of the test. */
export async function openEndpoint(first: Behaviour = json(active())): Promise<Endpoint> {
  const received: Received[] = [];
  let connections = 0;
  let behaviour = first;
  const http = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const fields = new URLSearchParams(Buffer.concat(chunks).toString());
      received.push({ method: request.method, headers: request.headers, fields });
      behaviour(request, response);
    });
  });
  http.on("connection", () => (connections += 1));
  const { port, close } = await listen(http);
  const closeOnce = async () => {
    if (http.listening) await close();
  };
  onTestFinished(closeOnce);
  return {
    url: `http://127.0.0.1:${port}/introspect`,
    received,
    connections: () => connections,
    answer: (next) => void (behaviour = next),
    close: closeOnce,
  };
}

export interface Asking {
  readonly endpoint: Endpoint;
  readonly server: ReturnType<typeof createServer>;
  readonly check: (token?: string) => Promise<Decision>;
  /** The status, and for a rejected token the rejection. */
  readonly verdict: (token?: string) => Promise<string>;
  /** The answer to a token that is refused, and the cause, which it does not show. */
  readonly refusal: (token?: string) => Promise<Refusal & { readonly cause: unknown }>;
  readonly pass: (seconds: number) => void;
}

type Refusal = ReturnType<ReturnType<typeof createServer>["refuse"]>;

/** A resource server that introspects its tokens, with a clock that the test moves. */
export async function startAsking(
  options: Partial<IntrospectionOptions> = {},
  given: { readonly behaviour?: Behaviour; readonly server?: Partial<ResourceServerOptions> } = {},
): Promise<Asking> {
  let now = NOW * 1000;
  const endpoint = await openEndpoint(given.behaviour);
  const server = createServer({
    now: () => now,
    opaqueTokens: [introspection({ url: endpoint.url, client: CLIENT, ...options })],
    ...given.server,
  });
  onTestFinished(() => server.close());
  const check = (token = TOKEN) =>
    server.check({ method: "GET", target: "/agents", authorization: `Bearer ${token}` });
  return {
    endpoint,
    server,
    check,
    verdict: async (token) => {
      const decision = await check(token);
      if (decision.allowed) return "200";
      return [server.refuse(decision).status, decision.rejection].filter(Boolean).join(" ");
    },
    refusal: async (token) => {
      const decision = await check(token);
      if (decision.allowed) throw new Error("It was allowed.");
      return { ...server.refuse(decision), cause: decision.cause };
    },
    pass: (seconds) => void (now += seconds * 1000),
  };
}
