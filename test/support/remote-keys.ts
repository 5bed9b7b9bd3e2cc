/** Resource servers with remote keys, a clock that tests control, and a record of key events. */
import { onTestFinished, vi } from "vitest";
import { type KeyEvent, KeysUnavailableError, type ResourceServer } from "scopegate";
import type { KeyFetch, KeySource } from "scopegate/complete";
import { createServer, NOW, verdictOf } from "./resource-servers.ts";
import type { ResourceServerOptions } from "./server.ts";

export const [TIMEOUT, COOLDOWN, MAX_AGE, STALE] = [5_000, 30_000, 600_000, 3_600_000] as const;
/** How long no request is sent after the first failure. It doubles with each failure, up to `COOLDOWN`. */
export const RETRY = 1_000;
/** When a set is refreshed in the background, with the default options. */
export const REFRESH = 450_000;

export interface Remote {
  readonly server: ResourceServer;
  readonly verdict: (token: string) => ReturnType<typeof verdictOf>;
  /** Advances the clock of the server, but not its timers. */
  readonly pass: (milliseconds: number) => void;
  /** All key events, and their types. */
  readonly events: readonly KeyEvent[];
  readonly types: () => readonly KeyEvent["type"][];
}

/** Creates a server that is closed at the end of the test. */
export function createRemote(keys: KeySource, options: Partial<ResourceServerOptions> = {}): Remote {
  const events: KeyEvent[] = [];
  let time = NOW * 1000;
  const server = createServer({
    keys,
    now: () => time,
    onKeyEvent: (event) => void events.push(event),
    ...options,
  });
  onTestFinished(() => server.close());
  const types = () => events.map(({ type }) => type);
  return {
    server,
    verdict: (token) => verdictOf(server, token),
    pass: (milliseconds) => void (time += milliseconds),
    events,
    types,
  };
}

export type Signers = readonly { readonly publicJwk: object }[];

/** The JWK Set of these signers. */
export const setOf = (...keys: Signers) => ({
  keys: keys.map(({ publicJwk }) => publicJwk),
});

/** An issuer in memory: the `fetch` of its JWK Set, and functions that change its answer. */
export function createFakeIssuer(...signers: Signers) {
  const fetch = vi.fn<KeyFetch>();
  const publish = (...keys: Signers) =>
    fetch.mockImplementation(() => Promise.resolve(Response.json(setOf(...keys))));
  const fail = () => fetch.mockImplementation(() => Promise.resolve(new Response(null, { status: 500 })));
  publish(...signers);
  return { fetch, publish, fail };
}

/** The error of `ready()`. Throws if the server is ready. */
export async function readyErrorOf(
  server: ResourceServer,
  options?: Parameters<ResourceServer["ready"]>[0],
): Promise<KeysUnavailableError> {
  const error: unknown = await server.ready(options).catch((thrown: unknown) => thrown);
  if (error instanceof KeysUnavailableError) return error;
  throw new Error("The server was ready.");
}

/** The token with another `kid`, and therefore an invalid signature. */
export function withKid(token: string, kid: string): string {
  const [header = "", ...rest] = token.split(".");
  const named = { ...(JSON.parse(Buffer.from(header, "base64url").toString()) as object), kid };
  return [Buffer.from(JSON.stringify(named)).toString("base64url"), ...rest].join(".");
}
