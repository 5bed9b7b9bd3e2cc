/** Resource servers that fetch their keys: with a clock that a test sets, and a record of what is told of the keys. */
import { EventEmitter, once } from "node:events";
import { onTestFinished } from "vitest";
import { type KeyEvent, type KeySource, type ResourceServer, type ResourceServerOptions } from "scopegate";
import { createServer, NOW, verdictOf } from "./resource-servers.ts";

export const [TIMEOUT, COOLDOWN, MAX_AGE, STALE] = [5_000, 30_000, 600_000, 3_600_000] as const;
/** When a set of the default age is read again in the background. */
export const REFRESH = 450_000;

export interface Remote {
  readonly server: ResourceServer;
  readonly verdict: (token: string) => ReturnType<typeof verdictOf>;
  /** Lets so many milliseconds pass on the clock of the server; timers do not notice. */
  readonly pass: (milliseconds: number) => void;
  /** All that was told of the keys, and of which type it was. */
  readonly events: readonly KeyEvent[];
  readonly types: () => readonly KeyEvent["type"][];
  /** Resolves as soon as so many events of a type have been told. */
  readonly whenTold: (type: KeyEvent["type"], times?: number) => Promise<void>;
}

/** A server that is closed at the end of its test. */
export function createRemote(keys: KeySource, options: Partial<ResourceServerOptions> = {}): Remote {
  const events: KeyEvent[] = [];
  const told = new EventEmitter();
  let time = NOW * 1000;
  const server = createServer({
    keys,
    now: () => time,
    onKeyEvent: (event) => {
      events.push(event);
      told.emit("event");
    },
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
    whenTold: async (type, times = 1) => {
      while (types().filter((one) => one === type).length < times) await once(told, "event");
    },
  };
}

export type Signers = readonly { readonly publicJwk: object }[];

/** The JWK Set of these. */
export const setOf = (...keys: Signers) => ({
  keys: keys.map(({ publicJwk }) => publicJwk),
});

/** The token with another `kid`: its signature fits no more, which shows as soon as a key is there to check it. */
export function withKid(token: string, kid: string): string {
  const [header = "", ...rest] = token.split(".");
  const named = { ...(JSON.parse(Buffer.from(header, "base64url").toString()) as object), kid };
  return [Buffer.from(JSON.stringify(named)).toString("base64url"), ...rest].join(".");
}
