/** The engine of the playground decides as a server does, whatever the table and the request are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { ConfigurationError, type ScopeMappings } from "scopegate";
import { bundleEngine } from "../../site/playground/bundle.ts";
import type { decide, Question, Result } from "../../site/playground/engine.ts";
import { EXAMPLES, fragmentOf, readFragment } from "../../site/playground/examples.ts";
import { readTable } from "../../site/playground/read-table.ts";
import { temporaryFolder } from "../support/folder.ts";
import { createIssuer } from "../support/issuer.ts";
import { createResourceServer } from "../support/server.ts";

const issuer = createIssuer();
const folder = temporaryFolder("playground");

/** The bundle, as a browser runs it. */
let engine: { readonly decide: typeof decide };
beforeAll(async () => {
  const file = join(folder, "engine.mjs");
  // A browser has none of these.
  writeFileSync(file, `const Buffer = undefined, global = undefined;\n${await bundleEngine()}`);
  engine = (await import(pathToFileURL(file).href)) as typeof engine;
});

/** What a server with this table does with a request and a real token, in the words of the playground. */
async function decideByServer(table: ScopeMappings, question: Question): Promise<unknown> {
  try {
    const server = createResourceServer({
      verifyAudience: false,
      verificationKeys: [issuer.publicPem],
      scopeMappings: table,
    });
    const { method, path: target, scopes, claims } = question;
    const token =
      scopes === null
        ? undefined
        : await issuer.token({
            ...(JSON.parse(claims || "{}") as object),
            scopes: scopes.split(" ").filter(Boolean),
          });
    const decision = await server.check({
      method,
      target,
      ...(token && { authorization: `Bearer ${token}` }),
    });
    return decision.allowed ? "allowed" : { status: server.refuse(decision).status, reason: decision.reason };
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues.map(({ message }) => message);
    throw error;
  }
}

function outcomeOf(result: Result): unknown {
  if (result.kind === "mistakes") return result.mistakes.map(({ message }) => message);
  if (!result.refusal) return "allowed";
  const { status, reason } = result.refusal;
  return { status, reason };
}

const PATTERNS = [
  "/",
  "/orders",
  "/orders/:id",
  "/orders{/*path}",
  "/{*path}",
  "/stores/:store/orders",
  "/:area/x",
  "/Orders",
];
const REQUIREMENTS: readonly unknown[] = [
  "public",
  "optional",
  [],
  ["orders:read"],
  ["orders:read", "stores:oslo:read"],
  { anyOf: ["orders:write", "orders:read"] },
  ["orders:<any>:read"],
  { scopes: ["orders:read"], actors: "none" },
];
const PATHS = [
  "/",
  "/orders",
  "/orders/",
  "/Orders",
  "/orders/7",
  "/orders/7/x",
  "/stores/oslo/orders",
  "/%6frders",
  "/a//b",
  "/x",
  "*",
];

/** A few keys and requirements are mistakes. */
const methods = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("GET", "HEAD", "POST", "*") },
  { weight: 1, arbitrary: fc.constant("get") },
);
const requirements = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...REQUIREMENTS) },
  { weight: 1, arbitrary: fc.constant(["public"]) },
);
const rules = fc.oneof(
  fc.tuple(
    fc.tuple(methods, fc.constantFrom(...PATTERNS)).map(([method, pattern]) => `${method} ${pattern}`),
    requirements,
  ),
  fc.constant(["GET /orders/:id", { scopes: [], where: { id: { claim: "org_id" } } }] as const),
);
const tables = fc
  .array(rules, { minLength: 1, maxLength: 3 })
  .map((entries) => Object.fromEntries(entries) as ScopeMappings);

const requests = fc.record({
  method: fc.constantFrom("GET", "HEAD", "POST", "DELETE"),
  path: fc.oneof(fc.constantFrom(...PATHS), fc.constantFrom("/orders", "/orders/7")),
  scopes: fc.constantFrom(
    null,
    "",
    "orders:read",
    "orders:*:read stores:read",
    "orders:7:read",
    "orders:read orders:write stores:oslo:read",
  ),
  claims: fc.constantFrom("", '{"org_id":"7"}', '{"act":{"sub":"agent-1"}}'),
});

/** The same table as JSON, as lines of a program and as YAML. */
const notations = fc.constantFrom(
  (table: ScopeMappings) => JSON.stringify(table, null, 2),
  (table: ScopeMappings) => `// Rules\n${JSON.stringify(table, null, 1).slice(1, -1).trim()}, // end`,
  (table: ScopeMappings) => stringify(table, { aliasDuplicateObjects: false }),
);

describe("the playground", () => {
  it("decides 1,000 random tables and requests as the library does", async () => {
    const counts = new Map<string, number>();
    for (const [table, request, write] of fc.sample(fc.tuple(tables, requests, notations), {
      numRuns: 1_000,
      seed: 35,
    })) {
      const question = { ...request, table: write(table) };
      const outcome = outcomeOf(engine.decide(question));
      expect(outcome, JSON.stringify(question)).toEqual(await decideByServer(table, question));
      const kind = Array.isArray(outcome) ? "mistakes" : JSON.stringify(outcome);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    // Each kind of result was compared often.
    expect(Math.min(...["mistakes", '"allowed"'].map((kind) => counts.get(kind) ?? 0))).toBeGreaterThan(50);
    const reasons = [...counts.keys()].filter((kind) => kind.startsWith("{"));
    expect(reasons.length, [...counts].join("; ")).toBeGreaterThanOrEqual(5);
  }, 60_000);

  it("shows a different result with each example", () => {
    const outcomes = EXAMPLES.map(({ question }) => JSON.stringify(outcomeOf(engine.decide(question))));
    expect(outcomes.length).toBe(5);
    expect(new Set(outcomes).size).toBe(5);
  });

  it.each([
    ["two rules with the same key", '"GET /a": "public", "GET /a": []', "Two rules have the same key"],
    ["an array", "[]", "must be an object"],
    ["nothing", "", "must be an object"],
    ["an alias", "{ a: &a [], b: *a }", "Aliases of YAML"],
    ["a string that does not end", '"GET /a": ["a:b', "Missing closing"],
  ])("says what is wrong with a table that is %s", (_, table, message) => {
    const read = readTable(table);
    expect(read.kind === "mistake" && read.message).toContain(message);
  });

  it.each([
    ["a scope with two slashes", "GET /a:\n  - files//admin\n", { "GET /a": ["files//admin"] }],
    ["an address", "GET /a: [https://a.example/read]", { "GET /a": ["https://a.example/read"] }],
    [
      "strings with escapes",
      String.raw`'GET /v1/:id\\:cancel': ['a:b'], // c`,
      { "GET /v1/:id\\:cancel": ["a:b"] },
    ],
    ["comments", '// "GET /b": [],\n{ "GET /a": [], // x\n}', { "GET /a": [] }],
    ["a tag", '{ "GET /a": !!binary aGk= }', { "GET /a": "aGk=" }],
  ])("reads %s as it is written", (_, written, table) => {
    expect(readTable(written)).toEqual({ kind: "table", table });
  });

  it("reports what it can't decide as a mistake", () => {
    const question = { ...EXAMPLES[0].question, claims: '{"cnf":{"jkt":"x"}}' };
    expect(engine.decide(question)).toMatchObject({ kind: "mistakes" });
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    expect(engine.decide({ ...question, claims: deep })).toMatchObject({ kind: "mistakes" });
    expect(engine.decide({ ...question, claims: "", table: "x".repeat(20_001) })).toMatchObject({
      kind: "mistakes",
    });
  });

  it("evaluates nothing that a table contains", () => {
    const program = "(() => { throw new Error() })()";
    expect(readTable(`"GET /a": ${program}`)).toEqual({ kind: "table", table: { "GET /a": program } });
  });

  it("reads from an address what it writes there, and ignores other addresses", () => {
    for (const { question } of EXAMPLES) expect(readFragment(fragmentOf(question))).toEqual(question);
    const others = [
      "",
      "#express",
      "#try=",
      "#try=%%",
      "#try=e30",
      `#try=${btoa('{"table":1}')}`,
      fragmentOf({ ...EXAMPLES[0].question, method: "TRACE" }),
    ];
    expect(others.map(readFragment)).toEqual(others.map(() => undefined));
  });
});
