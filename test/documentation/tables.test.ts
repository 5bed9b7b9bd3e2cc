/** Starts every table of docs/understand/table.md, and compares requests, mistakes and patterns with the page. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigurationError, hasScopes, type ResourceServer } from "scopegate";
import { explain } from "scopegate/explain";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { folder, scopegate, useFolder } from "../tools/cli/support.ts";
import { itemsOf, pageOf, sectionOf, tableOf } from "./markdown.ts";
import {
  codesOf,
  oneLine,
  readObject,
  type ShownRequest,
  type TableOptions,
  tablesOf,
  toConfiguration,
} from "./tables.ts";

useFolder();

const page = pageOf("docs/understand/table.md");
const tables = tablesOf(page);

const rowsBelow = (heading: string, title: string): readonly (readonly string[])[] =>
  tableOf(sectionOf(page, heading), title);

async function authorizationFor(token: ShownRequest["token"]): Promise<string | undefined> {
  if (token === "none") return undefined;
  const claims = token === "expired" ? { exp: NOW - 60 } : { ...token, exp: NOW + 60 };
  return `Bearer ${await issuer.token(claims)}`;
}

/** Answers a request as a page shows it: `allowed`, a status, or `403 (no rule)`. */
async function answerOf(server: ResourceServer, request: ShownRequest): Promise<string> {
  const { method, target, token } = request;
  const decision = await server.check({ method, target, authorization: await authorizationFor(token) });
  if (decision.allowed) return "allowed";
  const { status } = server.refuse(decision);
  return decision.reason === "route_unmapped" ? `${status} (no rule)` : String(status);
}

/** Returns what `scopegate lint` prints for a table. */
async function lint(options: TableOptions): Promise<readonly string[]> {
  const file = join(folder, "table.json");
  mkdirSync(folder, { recursive: true });
  const configuration = { ...toConfiguration(options), service_id: "site", required_claims: ["exp"] };
  writeFileSync(file, JSON.stringify(configuration));
  const { out } = await scopegate(["lint", "--config", file]);
  return out.split("\n").filter((line) => line !== "");
}

/** Returns the error of options that are wrong. */
function errorOf(options: Partial<ResourceServerOptions>): ConfigurationError | undefined {
  try {
    createServer(options);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

const codesOfIssues = (options: Partial<ResourceServerOptions>): readonly string[] =>
  errorOf(options)?.issues.map(({ code }) => code) ?? [];

/** Returns the error of a table that does not start, or else the warnings of `scopegate lint`. */
async function messagesFor(options: TableOptions): Promise<readonly string[]> {
  const error = errorOf(options);
  return error ? [`${error.name}: ${error.message}`] : lint(options);
}

describe("the example tables", () => {
  it("each have requests that are allowed and refused", () => {
    expect(tables.length).toBeGreaterThanOrEqual(6);
    for (const { name, requests } of tables) {
      const answers = requests.map(({ answer }) => answer);
      expect(answers, name).toContain("allowed");
      expect(new Set(answers).size, name).toBeGreaterThan(1);
    }
  });

  it.each(tables)("start, and respond as the page shows: $name", async ({ options, requests }) => {
    const server = createServer(options);
    const answers = [];
    for (const request of requests) answers.push({ ...request, answer: await answerOf(server, request) });
    expect(answers).toEqual(requests);
  });

  it.each(tables)("have no warning: $name", async ({ options }) => {
    const [first = "", ...others] = await lint(options);
    expect(first).toContain("The config");
    expect(others).toEqual([]);
  });

  it.each(tables)("show what scopegate says about the mistake: $name", async ({ mistake, message }) => {
    expect((await messagesFor(mistake)).map(oneLine)).toContain(message);
  });
});

describe("the tables of patterns, values and scopes", () => {
  const matches = (pattern: string, path: string): boolean =>
    explain(createServer({ scopeMappings: { [`GET ${pattern}`]: "public" as const } }), {
      method: "GET",
      path,
    }).decision.allowed;

  it.each(rowsBelow("Patterns", "pattern").map((row) => row.map(codesOf)))(
    "show which paths %s matches",
    ([pattern = ""], matched = [], others = []) => {
      expect(matched.filter((path) => !matches(pattern, path))).toEqual([]);
      expect(others.filter((path) => matches(pattern, path))).toEqual([]);
    },
  );

  it("show errors for the syntax of another router, which say what to write", () => {
    const [sentence = ""] = /The error for another syntax[^.]*\./.exec(page.text) ?? [];
    const parts = codesOf(sentence);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts)
      expect(errorOf({ scopeMappings: { [`GET /x/${part}`]: [] } })?.message, part).toContain("Write ");
  });

  it("show values that start", () => {
    const items = itemsOf(sectionOf(page, "Values"));
    expect(items.length).toBeGreaterThanOrEqual(6);
    for (const [value] of items) {
      const scopeMappings = readObject(`{ "GET /stores": ${value} }`);
      expect(codesOfIssues({ scopeMappings }), value).toEqual([]);
    }
  });

  it("show which scope covers which", () => {
    const required = ["stores:read", "stores:berlin:read"];
    for (const [granted = "", ...covers] of rowsBelow("Scopes", "granted"))
      for (const scope of codesOf(granted))
        expect(
          required.map((text) => (hasScopes([scope], text) ? "yes" : "no")),
          scope,
        ).toEqual(covers);
  });
});

describe("the tables of errors", () => {
  it("show rules without a right order", () => {
    for (const [rules = "", error = ""] of rowsBelow("When no order is right", "rules"))
      expect(codesOfIssues({ scopeMappings: readObject(`{ ${codesOf(rules).join(", ")} }`) })).toEqual(
        codesOf(error),
      );
  });
});
