/** A tenant with an issuer of its own attacks the other tenants. `npm run test:security` tries more. */
import { expect, it, onTestFinished } from "vitest";
import { guardFetch } from "../../src/capabilities/issuers/public-fetch.ts";
import { interceptNetwork, KINDS, runTenants } from "./hostile-tenants.ts";

it("accepts nothing, asks only for names at a bounded rate, and fetches nothing inside the network: 1,500 attacks", async () => {
  const summaries = await runTenants({ tries: 1_500, seed: 54 });
  expect(summaries.map(({ kind, tried, successes }) => ({ kind, tried, successes }))).toEqual(
    KINDS.map((kind) => ({ kind, tried: 250, successes: [] })),
  );
});

it("would notice a connection", async () => {
  const network = interceptNetwork();
  onTestFinished(network.restore);
  network.addresses = ["8.8.8.8"];
  const init = {
    method: "GET",
    headers: {},
    redirect: "manual",
    signal: new AbortController().signal,
  } as const;
  for (const url of ["https://keys.example/", "https://1.1.1.1/"])
    await expect(guardFetch()(url, init)).rejects.toThrow("Nothing is sent.");
  expect(network.connected).toEqual(["8.8.8.8", "1.1.1.1"]);
});
