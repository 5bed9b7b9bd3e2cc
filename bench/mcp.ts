/**
 * The cost of the gate of `scopegate/mcp` for a tool call, in addition to parsing the body and checking the
 * token.
 */
import { type Benchmark, createBudget } from "./benchmark.ts";
import type * as scopegateMcp from "scopegate/mcp";
import { createResourceServer, importEntry, importInternal } from "./built.ts";
import { awaited, compare, findMeasured, ratioOf, toRows } from "./compare.ts";
import type * as internals from "./mcp-internals.ts";
import { AUDIENCE, claimsOf, createSigner } from "./tokens.ts";

const REFERENCE = "cached check, JSON.parse and one decision";
const GATE = "protectMcp";

const BODIES: Readonly<Record<string, object>> = {
  "a short call": { agent_id: "web", input: "What is new?" },
  "a call with 4 kB of text": { agent_id: "web", input: "What is new? ".repeat(315) },
  "a call with 200 properties": {
    agent_id: "web",
    input: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`property ${index}`, index])),
  },
  "a call with 64 kB of properties": {
    agent_id: "web",
    input: Object.fromEntries(
      Array.from({ length: 2_400 }, (_, index) => [`property ${index}`, `v${index}`]),
    ),
  },
};

/** The most that the gate may cost, against the reference. */
const BUDGETS: Readonly<Record<string, number>> = { "a short call": 1.3 };
const DEFAULT_BUDGET = 1.2;

interface Call {
  readonly method: string;
  readonly params: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

export const mcp: Benchmark = {
  name: "mcp",
  title: "MCP: CPU time of the gate for one call of a tool",
  isGuard: false,
  async run({ quick, check }) {
    const { guardRequest, createGate, exchangeOf, resolveOptions, operationRulesOf, pipelineOf, verdictOf } =
      await importInternal<typeof internals>("../bench/mcp-internals.ts");
    const { mcpOperations } = await importEntry<typeof scopegateMcp>("mcp");
    const signer = createSigner("HS256");
    const server = createResourceServer({
      serviceId: AUDIENCE,
      algorithm: "HS256",
      verificationKeys: [signer.text],
      scopeMappings: { "* /mcp": [], "MCP tools/call run_agent": ["agents:<agent_id>:read"] },
      mcp: mcpOperations(),
    });
    const rules = operationRulesOf(pipelineOf(server).policy.rules);
    if (!rules) throw new Error("The server has no rules for operations.");
    const authorization = `Bearer ${signer.sign({ ...claimsOf(), scopes: ["agents:web:read"] })}`;
    await server.authenticate(authorization.slice("Bearer ".length));
    const gate = createGate(server, resolveOptions(server, {}, "protectMcp"));
    const decide = async (raw: object): Promise<void> => {
      const request = { method: "POST", target: "/mcp", authorization };
      if (await guardRequest(server, raw, request, false)) throw new Error("The token is refused.");
    };

    const rounds =
      quick || check
        ? { count: 10, us: 5_000, warmUpUs: 50_000 }
        : { count: 60, us: 20_000, warmUpUs: 500_000 };
    const results = [];
    for (const [name, input] of Object.entries(BODIES)) {
      const params = { name: "run_agent", arguments: input };
      const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
      const measured = await compare(
        [
          awaited(REFERENCE, async () => {
            const raw = {};
            await decide(raw);
            const verdict = verdictOf(raw, server);
            const { method, params: called } = JSON.parse(bytes.toString()) as Call;
            if (!verdict?.principal) throw new Error("The token is refused.");
            const operation = { method, name: called.name, parameters: called.arguments };
            const governing = rules.forCalls(verdict.governing, [operation]);
            if (!pipelineOf(server).policy.isSatisfied(governing, verdict.principal))
              throw new Error("The call is refused.");
          }),
          awaited(GATE, async () => {
            const raw = {};
            await decide(raw);
            const outcome = await gate(exchangeOf(raw, bytes));
            if (!("verdict" in outcome)) throw new Error("The call is refused.");
          }),
        ],
        rounds,
      );
      results.push({ name, bytes: bytes.length, measured });
    }
    return {
      rows: results.flatMap(({ name, bytes, measured }) =>
        toRows(`${name}, ${bytes} bytes`, measured, REFERENCE),
      ),
      budgets: results.map(({ name, measured }) =>
        createBudget(
          `${name}: against ${REFERENCE}`,
          ratioOf(findMeasured(measured, GATE), findMeasured(measured, REFERENCE)),
          BUDGETS[name] ?? DEFAULT_BUDGET,
        ),
      ),
    };
  },
};
