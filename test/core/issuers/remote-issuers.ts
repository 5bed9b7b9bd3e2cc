/** Servers with some issuers whose keys are fetched from a fault server, and some with local keys. */
import { afterAll, afterEach, beforeAll } from "vitest";
import type {
  KeyEvent,
  ResourceServer,
  ResourceServerOptions,
  TrustedIssuer,
} from "scopegate";
import { type Behaviour, createFaultServer, type FaultServer } from "../../support/fault-server.ts";
import { createServer } from "../../support/resource-servers.ts";
import { CONTROL, ENTRIES, REMOTE, signedBy } from "./signers.ts";

export const AUD = { aud: "agents-prod" };
export const controls = signedBy(CONTROL, { claims: AUD });
export const remotes = signedBy(REMOTE, { claims: AUD });

export interface RemoteIssuers {
  /** A server with these issuers, each with the path of its keys. It is closed after the test. */
  readonly serverOf: (
    remote: Readonly<Record<string, string>>,
    options?: Partial<ResourceServerOptions>,
  ) => ResourceServer;
  readonly answer: (path: string, behaviour: Behaviour) => void;
  /** The number of requests for a path. */
  readonly asked: (path: string) => number;
  /** The paths that were fetched since the server was created. */
  readonly fetched: () => readonly string[];
  readonly whenAsked: (path: string) => Promise<void>;
  readonly events: () => readonly KeyEvent[];
  readonly faults: () => FaultServer;
}

/** Part of every URL, and of no message. */
const QUERY = "?secret=1";

/** A request ends only when it is aborted. */
const LONGER_THAN_A_TEST = 600_000;

/** Call this once per test file. */
export function useRemoteIssuers(): RemoteIssuers {
  let faults: FaultServer;
  let server: ResourceServer | undefined;
  let events: KeyEvent[] = [];
  let fetched: string[] = [];
  beforeAll(async () => {
    faults = await createFaultServer();
  });
  afterAll(() => faults.stop());
  afterEach(() => server?.close());

  const entryOf = ([issuer, path]: readonly [string, string]): TrustedIssuer => {
    const fetch: typeof globalThis.fetch = (url, init) => {
      fetched.push(path);
      return globalThis.fetch(url, init);
    };
    const keys = { jwksUri: `${faults.url}${path}${QUERY}`, fetch, timeoutMs: LONGER_THAN_A_TEST };
    return { issuer, keys, algorithms: ["RS256"] };
  };

  return {
    serverOf: (remote, options = {}) => {
      [events, fetched] = [[], []];
      server = createServer({
        issuers: [ENTRIES.control, ENTRIES.partner, ...Object.entries(remote).map(entryOf)],
        onKeyEvent: (event) => events.push(event),
        ...options,
      });
      return server;
    },
    answer: (path, behaviour) => faults.answer(`${path}${QUERY}`, behaviour),
    asked: (path) => faults.asked(`${path}${QUERY}`),
    whenAsked: (path) => faults.whenAsked(`${path}${QUERY}`, 1),
    fetched: () => fetched,
    events: () => events,
    faults: () => faults,
  };
}
