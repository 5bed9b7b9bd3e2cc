/**
 * What the gate reads before it decides costs CPU time in proportion to its bytes, also without a token. For each
 * input, the smallest of several runs is compared with that of a request sixteen times as large. Linear time grows
 * sixteen times, and up to four times more if garbage is collected; quadratic time grows 256 times.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/adapters/mcp/exchange.ts";
import { createGate } from "../../../src/adapters/mcp/gate.ts";
import { resolveOptions } from "../../../src/adapters/mcp/options.ts";
import { guardRequest } from "../../../src/adapters/shared/guard.ts";
import { createResourceServer } from "../../support/server.ts";
import { issuer, RESOURCE } from "./support/tools.ts";

const server = createResourceServer({
  ...issuer.resourceServerOptions,
  resource: { id: RESOURCE, authorizationServers: ["https://login.example/"] },
  serviceId: RESOURCE,
  scopeMappings: {
    "* /mcp": "optional",
    "MCP tools/call search": "optional",
    "MCP tools/call run_agent": ["agents:<agent_id>:run"],
    "MCP prompts/get *": ["docs:read"],
    "MCP resources/read docs://{name}": "optional",
    "MCP resources/read docs://{name}/{part}": ["docs:read"],
    "MCP subscriptions/listen": "optional",
  },
});
const gate = createGate(server, resolveOptions(server, { maxBodyBytes: 2 ** 26 }, "protectMcp"));

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a request without a token to the gate. Returns the status, or `undefined` if it is allowed. */
async function enter({ headers = {}, body }: Sent): Promise<number | undefined> {
  const raw = {};
  const bytes = Buffer.from(body);
  await guardRequest(server, raw, { method: "POST", target: "/mcp" }, false);
  const fields: Readonly<Record<string, string>> = { "content-type": "application/json", ...headers };
  const exchange: Exchange = {
    raw,
    method: "POST",
    header: (name) => fields[name],
    fields: () => Object.keys(fields),
    body: () => bytes,
    isEmpty: () => false,
  };
  const outcome = await gate(exchange);
  return "status" in outcome ? outcome.status : undefined;
}

/** The CPU time in microseconds: the least of several runs, because other work of the process only adds to it. */
async function leastTime(sent: Sent, runs: number): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run += 1) {
    const start = process.cpuUsage();
    await enter(sent);
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least;
}

const bytesOf = ({ headers = {}, body }: Sent): number => JSON.stringify(headers).length + body.length;

const MOST = 8;

/** How many times more CPU time than bytes. Timed again before it fails: another program can disturb all runs. */
async function expectLinear(small: Sent, large: Sent): Promise<void> {
  const bytes = bytesOf(large) / bytesOf(small);
  let least = Infinity;
  for (const runs of [3, 12]) {
    const growth = (await leastTime(large, runs)) / Math.max(await leastTime(small, runs), 500);
    least = Math.min(least, growth / bytes);
    if (least < MOST) return;
  }
  expect(least, large.body.slice(0, 200)).toBeLessThan(MOST);
}

const SMALL = 2 ** 17;
const LARGE = 16 * SMALL;

const request = (params: string, method = "tools/call") =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
const callOf = (callArguments: string) => request(`{"name":"search","arguments":${callArguments}}`);
const repeat = (unit: string, bytes: number) => unit.repeat(Math.ceil(bytes / unit.length));
const many = (count: number, render: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => render(index)).join(",");

/** Where a long string can stand. */
const PLACES: Readonly<Record<string, (text: string) => string>> = {
  "the value of an argument": (text) => callOf(`{"a":"${text}"}`),
  "the name of an argument": (text) => callOf(`{"${text}":1}`),
  "an element of an array": (text) => callOf(`{"a":[["${text}"]]}`),
  "an unknown parameter": (text) => request(`{"name":"search","${text}":"${text}"}`),
  "an unknown property": (text) => `{"jsonrpc":"2.0","id":1,"method":"ping","${text}":1}`,
  "the id": (text) => `{"jsonrpc":"2.0","id":"${text}","method":"ping"}`,
  "the method": (text) => request("{}", text),
  "the name of a tool": (text) => request(`{"name":"${text}"}`),
  "the name of a prompt": (text) => request(`{"name":"${text}"}`, "prompts/get"),
  "a URI": (text) => request(`{"uri":"docs://${text}"}`, "resources/read"),
  "the argument of a scope": (text) => request(`{"name":"run_agent","arguments":{"agent_id":"${text}"}}`),
  "the id of a task": (text) => request(`{"taskId":"${text}"}`, "tasks/get"),
  _meta: (text) => request(`{"name":"search","_meta":{"${text}":"${text}"}}`),
  "a completion": (text) =>
    request(
      `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"${text}"},"context":{"arguments":{"${text}":"a"}}}`,
      "completion/complete",
    ),
};

/** What is counted in the body. */
const COUNTS: Readonly<Record<string, (bytes: number) => string>> = {
  arguments: (bytes) => callOf(`{${many(bytes / 12, (index) => `"k${index}":1`)}}`),
  parameters: (bytes) => request(`{"name":"search",${many(bytes / 12, (index) => `"k${index}":1`)}}`),
  "properties of a message": (bytes) =>
    `{"jsonrpc":"2.0","id":1,"method":"ping",${many(bytes / 12, (index) => `"k${index}":1`)}}`,
  "properties of a response": (bytes) =>
    `{"jsonrpc":"2.0","id":1,"result":{${many(bytes / 12, (index) => `"k${index}":1`)}}}`,
  "parameters as long as `arguments`": (bytes) =>
    request(`{"name":"search",${many(bytes / 14, (index) => `"${index.toString(36).padStart(9, "A")}":1`)}}`),
  "elements of an array": (bytes) => callOf(`{"a":[${many(bytes / 2, () => "1")}]}`),
  "elements that are fractions": (bytes) => callOf(`{"a":[${many(bytes / 4, () => "1.0")}]}`),
  "digits of a fraction": (bytes) => callOf(`{"a":${repeat("1", bytes / 2)}.${repeat("1", bytes / 2)}}`),
  "nested arrays": (bytes) => callOf(`{"a":${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}}`),
  "nested objects": (bytes) => callOf(`{"a":${'{"a":'.repeat(bytes / 6)}1${"}".repeat(bytes / 6)}}`),
  "empty objects": (bytes) => callOf(`{"a":[${many(bytes / 3, () => "{}")}]}`),
  spaces: (bytes) => callOf(`{"a":${" ".repeat(bytes)}1}`),
  "arguments in each message of a batch": (bytes) =>
    `[${many(100, () => callOf(`{${many(bytes / 1_200, (index) => `"k${index}":1`)}}`))}]`,
};

describe("the CPU time of a request without a token", () => {
  it(
    "grows with the bytes of a string, whatever it contains and wherever it stands",
    { timeout: 120_000 },
    async () => {
      const unit = fc
        .array(
          fc.constantFrom('\\"', "\\\\", "\\u0061", "\\n", "a", "aaaaaaaaaaaaaaaa", ":", "{", "é", "A"),
          {
            minLength: 1,
            maxLength: 4,
          },
        )
        .map((parts) => parts.join(""));
      const place = fc.constantFrom(...Object.values(PLACES));
      await fc.assert(
        fc.asyncProperty(unit, place, (text, render) =>
          expectLinear({ body: render(repeat(text, SMALL)) }, { body: render(repeat(text, LARGE)) }),
        ),
        { numRuns: 25, seed: 6749, endOnFailure: true },
      );
    },
  );

  it.each(Object.entries(PLACES))(
    "grows with the bytes of %s, if each byte is escaped",
    async (_, render) => {
      // Long parts without escapes between escapes make the search for the end of a string start again.
      for (const text of [`${"a".repeat(70)}\\\\`, "\\\\", '\\"'])
        await expectLinear({ body: render(repeat(text, SMALL)) }, { body: render(repeat(text, LARGE)) });
    },
  );

  it.each(Object.entries(COUNTS))("grows with the number of %s", async (_, render) => {
    await expectLinear({ body: render(SMALL) }, { body: render(LARGE) });
  });

  it.each([
    ["headers", 1, 64],
    ["headers", 8, 900],
  ])("doesn't multiply the arguments by the %s: from %d to %d", async (_, few, more) => {
    const body = callOf(`{${many(2 ** 15, (index) => `"${index}k":1`)}}`);
    const headersOf = (count: number) => ({
      "mcp-method": "tools/call",
      ...Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`mcp-param-x${index}`, "1"])),
    });
    await expectLinear({ headers: headersOf(few), body }, { headers: headersOf(more), body });
  });

  it("doesn't multiply the spellings of an argument's name by the length of its header", async () => {
    const letters = "abcdefghijklmno";
    const spelling = (index: number) =>
      letters.replace(/./g, (letter, bit: number) => ((index >> bit) & 1 ? letter.toUpperCase() : letter));
    const body = callOf(`{${many(2 ** 15, (index) => `"${spelling(index)}":"x"`)}}`);
    const headersOf = (length: number) => ({
      "mcp-method": "tools/call",
      [`mcp-param-${letters}`]: `=?base64?${Buffer.from("x".repeat(length)).toString("base64")}?=`,
    });
    await expectLinear({ headers: headersOf(1), body }, { headers: headersOf(8_000), body });
  });

  it.each([
    ["messages of a batch", (count: number) => `[${many(count, () => callOf('{"a":"b"}'))}]`],
    [
      "resources that are read in a batch",
      (count: number) =>
        `[${many(count, (index) => request(`{"uri":"docs://a/${index}"}`, "resources/read"))}]`,
    ],
    [
      "subscriptions of a message",
      (count: number) =>
        request(
          `{"notifications":{"resourceSubscriptions":[${many(count, (index) => `"docs://a/${index}${"b/".repeat(50)}"`)}]}}`,
          "subscriptions/listen",
        ),
    ],
  ])("grows with the number of %s", async (_, render) => {
    const repeated = (count: number): Sent => ({ body: render(count) });
    await expectLinear(repeated(6), repeated(96));
  });
});
