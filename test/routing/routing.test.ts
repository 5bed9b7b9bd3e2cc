import { describe, expect, it } from "vitest";
import { brokenGuards, faulty, refusing } from "./broken-guards.ts";
import type { Configuration } from "./configuration.ts";
import { runConfiguration } from "./harness.ts";
import { TABLE } from "./policy.ts";
import { DOCUMENTED, refusedSpellings } from "./refused-spellings.ts";
import { configurations, runRouting } from "./run.ts";
import { createRoutingServer } from "./tokens.ts";

const summaries = await runRouting({ scale: "small" });

const named = (name: string): Configuration => {
  const match = configurations.find((configuration) => configuration.name === name);
  if (!match) throw new Error(`No configuration is named \`${name}\`.`);
  return match;
};

describe.each(summaries)("$configuration", ({ bypasses, serverErrors, canonicalRefusals }) => {
  it("runs no protected handler without its scopes", () => expect(bypasses).toEqual([]));
  it("causes no server error", () => expect(serverErrors).toEqual([]));
  it("refuses no canonical request with sufficient scopes", () => expect(canonicalRefusals).toEqual([]));
});

it("finds bypasses in exactly the configurations that are documented as open", () => {
  const open = configurations.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  const bypassed = summaries.filter(({ documentedBypasses }) => documentedBypasses.length > 0);
  expect(bypassed.map(({ configuration }) => configuration)).toEqual(open);
});

it("refuses no kind of request that a router serves, except the documented kinds", () => {
  const refused = [...refusedSpellings(summaries)];
  expect(refused.filter(([key]) => !DOCUMENTED.includes(key))).toEqual([]);
});

describe("the harness", () => {
  const strict = named("Express 5, strict and case-sensitive");
  const server = createRoutingServer(TABLE, "");

  it.each(Object.entries(brokenGuards))("reports a bypass for a guard that %s", async (_name, create) => {
    const { bypasses } = await runConfiguration(strict, create(server), "small");
    expect(bypasses).not.toEqual([]);
  });

  it("reports a server error for a guard that throws", async () => {
    const { serverErrors } = await runConfiguration(strict, faulty, "small");
    expect(serverErrors).not.toEqual([]);
  });

  it("reports canonical refusals for a guard that refuses every request", async () => {
    const { bypasses, canonicalRefusals } = await runConfiguration(strict, refusing, "small");
    expect(bypasses).toEqual([]);
    expect(canonicalRefusals).not.toEqual([]);
  });
});
