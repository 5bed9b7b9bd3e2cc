/** Runs the official conformance suites against the same servers with and without the gate. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Gate, GATES, HOST_NAMES, openHost } from "./conformance/hosts.ts";
import { createEndpoint1, createEndpoint2 } from "./conformance/servers.ts";
import { canRunSuites, type Check, runSuite } from "./conformance/suites.ts";

/** The suites, and how many of their checks a complete server passes. */
const STABLE = { title: "0.1.16", folder: "@modelcontextprotocol/conformance", total: 44 };
const OF_2025 = {
  folder: "conformance-next",
  title: "0.2.0 for 2025-11-25",
  revision: "2025-11-25",
  total: 84,
};
const OF_2026 = {
  folder: "conformance-next",
  title: "0.2.0 for 2026-07-28",
  revision: "2026-07-28",
  total: 152,
};

/** Version 1 of the SDK does not implement revision 2026-07-28. */
const SERVERS = [
  { sdk: "SDK 1", createEndpoint: createEndpoint1, suites: [STABLE, OF_2025] },
  { sdk: "SDK 2", createEndpoint: createEndpoint2, suites: [STABLE, OF_2025, OF_2026] },
];
const CASES = SERVERS.flatMap(({ suites, ...server }) =>
  HOST_NAMES.flatMap((host) => suites.map((suite) => ({ ...server, ...suite, host }))),
);

/** Returns the checks that pass. A check that several requests of a scenario repeat occurs several times. */
const passed = (checks: readonly Check[]): readonly string[] =>
  checks
    .filter(({ status }) => status === "SUCCESS")
    .map(({ scenario, id, name }) => `${scenario}: ${id} (${name})`)
    .sort();

async function runCase(tested: (typeof CASES)[number], gate?: Gate): Promise<readonly string[]> {
  const { port, close } = await openHost(tested.host, tested.createEndpoint(), gate);
  try {
    return passed(await runSuite(tested, port));
  } finally {
    await close();
  }
}

if (!canRunSuites())
  it.skip("cannot run the conformance suites: they need Linux x64 and npm run test:mcp", () => undefined);
else
  describe.each(CASES)("suite $title with $sdk on $host", (tested) => {
    let bare: readonly string[];
    beforeAll(async () => {
      bare = await runCase(tested);
    });

    it.each(Object.keys(GATES) as Gate[])(
      "passes the same checks with a gate for %s as without it",
      async (gate) => {
        const gated = await runCase(tested, gate);
        console.info(`${bare.length} checks pass without the gate, ${gated.length} with it.`);
        expect(bare).toHaveLength(tested.total);
        expect(gated).toEqual(bare);
      },
    );
  });
