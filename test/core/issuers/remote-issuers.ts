/** Servers with some issuers whose keys are fetched from a fault server, and some with local keys. */
import { afterAll, afterEach, beforeAll } from "vitest";
import type { KeyEvent, ResourceServer } from "scopegate";
import type { TrustedIssuer } from "scopegate/complete";
import { type Behaviour, createFaultServer, type FaultServer } from "../../support/fault-server.ts";
import { createServer } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { CONTROL, ENTRIES, REMOTE, signedBy } from "./signers.ts";

export const AUD = { aud: "agents-prod" };
export const controls = signedBy(CONTROL, { claims: AUD });
export const remotes = signedBy(REMOTE, { claims: AUD });

/** Part of every URL, and of no message. */
const QUERY = "?secret=1";

/** A request ends only when it is aborted. */
const LONGER_THAN_A_TEST = 600_000;

/** Call this once per test file. */
export function useRemoteIssuers() {
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
    /** A server with these issuers, each with the path of its keys. It is closed after the test. */
    serverOf: (remote: Readonly<Record<string, string>>, options: Partial<ResourceServerOptions> = {}) => {
      [events, fetched] = [[], []];
      server = createServer({
        issuers: [ENTRIES.control, ENTRIES.partner, ...Object.entries(remote).map(entryOf)],
        onKeyEvent: (event) => events.push(event),
        ...options,
      });
      return server;
    },
    answer: (path: string, behaviour: Behaviour) => faults.answer(`${path}${QUERY}`, behaviour),
    asked: (path: string) => faults.asked(`${path}${QUERY}`),
    whenAsked: (path: string) => faults.whenAsked(`${path}${QUERY}`, 1),
    /** The paths that were fetched since the server was created. */
    fetched: (): readonly string[] => fetched,
    events: () => events,
    faults: () => faults,
  };
}
