/** Hundreds of hostile requests to a real MCP server on every host. `npm run test:mcp` prints the sums. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { CORPUS } from "./support/corpus/index.ts";
import { INITIALIZE, sessionCases } from "./support/corpus/sessions.ts";
import { ALLOWED, call, type Hostile, type Sender } from "./support/corpus/hostile.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { type Raw, send } from "./support/send.ts";
import { createMcpResourceServer, isAllowed, RESOURCE, SCOPES, tokenOf, type User } from "./support/tools.ts";

const LIMITS = { maxBodyBytes: 1_048_576, bodyTimeoutMs: 200 };
const sums = { requests: 0, executions: 0, withoutScope: 0, serverErrors: 0, hangs: 0 };
const tokens = new Map<Sender, string>();

beforeAll(async () => {
  for (const user of Object.keys(SCOPES) as User[]) tokens.set(user, await tokenOf(user));
  const runner = await tokenOf("runner");
  tokens.set("expired", await tokenOf("runner", { rejectedAs: "expired" }));
  tokens.set("wrong audience", await tokenOf("runner", { claims: { aud: "https://other.example/mcp" } }));
  tokens.set("another issuer", await createTestIssuer({ audience: RESOURCE }).token({ userId: "runner" }));
  tokens.set("unsigned", `${runner.split(".").slice(0, 2).join(".")}.`);
});

afterAll(() => {
  expect(Object.values(CORPUS).flat().length).toBeGreaterThanOrEqual(300);
  console.log(`Hostile MCP requests: ${JSON.stringify(sums)}`);
  expect(sums).toMatchObject({ withoutScope: 0, serverErrors: 0, hangs: 0 });
});

describe.each(HOSTS)("an MCP server on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createMcpResourceServer(), LIMITS);
  });
  afterAll(() => open.close());

  /** Sends a request, and adds what it did to the sums. */
  const attack = async (raw: Raw, sender: Sender) => {
    const before = open.backend.executions.length;
    const received = await send(open.port, raw, tokens.get(sender));
    const ran = open.backend.executions.slice(before);
    const forbidden = ran.filter((one) => !isAllowed(one));
    sums.requests += 1;
    sums.executions += ran.length;
    sums.withoutScope += forbidden.length;
    sums.serverErrors += received.status !== undefined && received.status >= 500 ? 1 : 0;
    sums.hangs += received.status === undefined ? 1 : 0;
    return { ...received, ran };
  };

  /** Sends hostile requests, and returns those that ran a tool, or were answered in another way. */
  const attackAll = async (cases: readonly Hostile[]) => {
    const surprises: object[] = [];
    for (const { name, status: expected, sender = "runner", ...raw } of cases) {
      const { status, ran, body } = await attack(raw, sender);
      if (ran.length > 0 || status === undefined || !expected.includes(status))
        surprises.push({ name, status, expected, ran, body: body.slice(0, 200) });
    }
    return surprises;
  };

  it.each(Object.entries(CORPUS))("runs no tool for hostile %s", async (_, cases) => {
    expect(await attackAll(cases)).toEqual([]);
  });

  it("runs no tool in the session of another caller, which stays open", async () => {
    const start = async (sender: User) => {
      const { head } = await attack({ body: JSON.stringify(INITIALIZE) }, sender);
      return /^mcp-session-id: (\S+)/im.exec(head)?.[1] ?? "none";
    };
    const session = await start("runner");
    expect(await attackAll(sessionCases(session, await start("reader")))).toEqual([]);
    const headers = { "mcp-session-id": session };
    const own = await attack({ body: JSON.stringify(ALLOWED), headers }, "runner");
    expect(own).toMatchObject({ status: 200, ran: [{ user: "runner", call: "search" }] });
    const stream = await attack({ method: "GET", headers }, "runner");
    expect(stream.head).toMatch(/^HTTP\/1\.1 200 .*text\/event-stream/is);
    expect(await attack({ method: "DELETE", headers }, "runner")).toMatchObject({ status: 200 });
    expect(await attack({ body: JSON.stringify(ALLOWED), headers }, "runner")).toMatchObject({ status: 404 });
  });

  it("runs the tools that the caller may call, behind all these requests", async () => {
    const agent = call("run_agent", { agent_id: "web" });
    const headers = { "mcp-method": "tools/call", "mcp-name": "=?base64?cnVuX2FnZW50?=" };
    const bodies = [ALLOWED, agent, [ALLOWED, { ...agent, id: 2 }]].map((body) => JSON.stringify(body));
    const escaped = JSON.stringify(agent).replace("name", "na\\u006de");
    const raws: readonly Raw[] = [...bodies, escaped].map((body) => ({ body }));
    const calls: string[] = [];
    for (const raw of [...raws, { body: JSON.stringify(agent), headers }]) {
      const { status, ran } = await attack(raw, "runner");
      expect(status).toBe(200);
      calls.push(...ran.map((one) => one.call));
    }
    expect(calls).toEqual([
      ...["search", "run_agent web", "search", "run_agent web"],
      ...["run_agent web", "run_agent web"],
    ]);
  });
});
