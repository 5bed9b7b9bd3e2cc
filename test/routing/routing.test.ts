import { describe, expect, it } from "vitest";
import { brokenGuards, faulty, refusing } from "./broken-guards.ts";
import { type Configuration } from "./configuration.ts";
import { runConfiguration } from "./harness.ts";
import { TABLE } from "./policy.ts";
import { DOCUMENTED, refusedSpellings } from "./refused-spellings.ts";
import { configurations, runRouting } from "./run.ts";
import { createRoutingServer } from "./tokens.ts";

const summaries = await runRouting({ scale: "small" });

const named = (name: string): Configuration => {
  const found = configurations.find((configuration) => configuration.name === name);
  if (!found) throw new Error(`There is no configuration \`${name}\`.`);
  return found;
};

describe.each(summaries)("$configuration", ({ bypasses, serverErrors, canonicalRefusals }) => {
  it("runs no protected handler without its scopes", () => expect(bypasses).toEqual([]));
  it("answers no request with a fault", () => expect(serverErrors).toEqual([]));
  it("refuses no canonical request with the right scopes", () => expect(canonicalRefusals).toEqual([]));
});

it("passes by no guard but those that the documentation names", () => {
  const open = configurations.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  const found = summaries.filter(({ documentedBypasses }) => documentedBypasses.length > 0);
  expect(found.map(({ configuration }) => configuration)).toEqual(open);
});

it("refuses no other kind of request that a router serves than the documented ones", () => {
  const found = [...refusedSpellings(summaries)];
  expect(found.filter(([key]) => !DOCUMENTED.includes(key))).toEqual([]);
});

describe("the harness", () => {
  const strict = named("Express 5, strict and case-sensitive");
  const server = createRoutingServer(TABLE, "");

  it.each(Object.entries(brokenGuards))("finds out a guard that %s", async (_name, create) => {
    const { bypasses } = await runConfiguration(strict, create(server), "small");
    expect(bypasses).not.toEqual([]);
  });

  it("finds out a guard with a fault", async () => {
    const { serverErrors } = await runConfiguration(strict, faulty, "small");
    expect(serverErrors).not.toEqual([]);
  });

  it("finds out a guard that refuses everyone", async () => {
    const { bypasses, canonicalRefusals } = await runConfiguration(strict, refusing, "small");
    expect(bypasses).toEqual([]);
    expect(canonicalRefusals).not.toEqual([]);
  });
});
