/** Thousands of hostile requests to a real MCP server on every host. `npm run test:mcp` prints the total. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import {
  type Colleague,
  COMPANY_SCOPES,
  COMPANY_TABLE,
  companyToken,
  createCompany,
  isAllowedInCompany,
} from "./support/company.ts";
import { COMPANY_CORPUS, CORPUS } from "./support/corpus/index.ts";
import { INITIALIZE, sessionCases } from "./support/corpus/sessions.ts";
import { ALLOWED, call, type Hostile, message, type Sender } from "./support/corpus/hostile.ts";
import { coercedTaskCases, taskCases } from "./support/corpus/tasks.ts";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { type Raw, type Received, send } from "./support/send.ts";
import {
  createMcpResourceServer,
  type Execution,
  isAllowed,
  RESOURCE,
  SCOPES,
  tokenOf,
  type User,
} from "./support/tools.ts";

const LIMITS = { maxBodyBytes: 1_048_576, bodyTimeoutMs: 1_000 };
const total = { requests: 0, executions: 0, withoutScope: 0, serverErrors: 0, hangs: 0 };
const tokens = new Map<Sender, string>();

/** Tokens that outlive the run, also on a slow machine. */
const LASTING = { expiresIn: 86_400 };

beforeAll(async () => {
  for (const user of Object.keys(SCOPES) as User[]) tokens.set(user, await tokenOf(user, LASTING));
  for (const user of Object.keys(COMPANY_SCOPES) as Colleague[])
    tokens.set(user, await companyToken(user, LASTING));
  const runner = await tokenOf("runner", LASTING);
  const claims = { aud: "https://other.example/mcp" };
  const otherIssuer = createTestIssuer({ audience: RESOURCE });
  tokens.set("expired", await tokenOf("runner", { rejectedAs: "expired" }));
  tokens.set("wrong audience", await tokenOf("runner", { ...LASTING, claims }));
  tokens.set("another issuer", await otherIssuer.token({ ...LASTING, userId: "runner" }));
  tokens.set("unsigned", `${runner.split(".").slice(0, 2).join(".")}.`);
});

afterAll(() => {
  expect(total.requests).toBeGreaterThanOrEqual(5000);
  console.log(`Hostile MCP requests: ${JSON.stringify(total)}`);
  expect(total).toMatchObject({ withoutScope: 0, serverErrors: 0, hangs: 0 });
});

interface Attacker {
  /** Sends a request, and adds what it did to the total. */
  readonly attack: (raw: Raw, sender: Sender) => Promise<Received & { readonly ran: readonly Execution[] }>;
  /** Sends hostile requests, and returns those that ran what they must not, or were answered in another way. */
  readonly attackAll: (cases: readonly Hostile[]) => Promise<readonly object[]>;
}

/** Identifies a request of the corpus. */
const show = (name: string, sender: Sender, raw: Raw) => ({
  name,
  sender,
  sent: JSON.stringify(raw).slice(0, 300),
});

function createAttacker(open: () => OpenHost, isAllowed: (execution: Execution) => boolean): Attacker {
  const attack: Attacker["attack"] = async (raw, sender) => {
    const { port, backend } = open();
    const before = backend.executions.length;
    const received = await send(port, raw, tokens.get(sender));
    const ran = backend.executions.slice(before);
    total.requests += 1;
    total.executions += ran.length;
    total.withoutScope += ran.filter((execution) => !isAllowed(execution)).length;
    total.serverErrors += received.status !== undefined && received.status >= 500 ? 1 : 0;
    total.hangs += received.status === undefined ? 1 : 0;
    return { ...received, ran };
  };
  const attackAll: Attacker["attackAll"] = async (cases) => {
    const surprises: object[] = [];
    for (const { name, status: expected, sender = "runner", mayRun = false, ...raw } of cases) {
      const { status, ran, body } = await attack(raw, sender);
      const shown = show(name, sender, raw);
      const forbidden = ran.filter((execution) => !mayRun || !isAllowed(execution));
      if (forbidden.length > 0 || status === undefined || !expected.includes(status))
        surprises.push({ ...shown, status, expected, forbidden, body: body.slice(0, 200) });
    }
    return surprises;
  };
  return { attack, attackAll };
}

describe.each(HOSTS)("an MCP server on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createMcpResourceServer(), LIMITS);
  });
  afterAll(() => open.close());
  const { attack, attackAll } = createAttacker(() => open, isAllowed);

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

/** What stands for a hidden name, between the gate and the server. */
const PLACEHOLDER = /x[\da-f]{32}x/i;

/** A server may handle any name, and then it runs for one that nobody has. */
const isHarmless = (execution: Execution): boolean =>
  isAllowedInCompany(execution) || PLACEHOLDER.test(JSON.stringify(execution));

/** One for each way to read a request and to edit a response. */
const HIDING_HOSTS = HOSTS.filter(({ name }) =>
  ["Express 5", "Fastify 5", "the Fetch standard"].includes(name),
);

describe.each(HIDING_HOSTS)("an MCP server whose names are hidden on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    const server = createMcpResourceServer(COMPANY_TABLE, { hidden: true });
    open = await openHost(host, server, { ...LIMITS, create: createCompany });
  });
  afterAll(() => open.close());
  const { attack } = createAttacker(() => open, isHarmless);

  it.each(Object.entries(COMPANY_CORPUS))(
    "runs only what the caller may run, and shows no other name, for hostile %s",
    async (_, cases) => {
      const surprises: object[] = [];
      for (const { name, sender = "runner", ...raw } of cases) {
        const { status = 0, ran, head, body } = await attack(raw, sender);
        const shown = show(name, sender, raw);
        const forbidden = ran.filter((execution) => !isHarmless(execution));
        const isShown = PLACEHOLDER.test(head + body);
        if (forbidden.length > 0 || isShown || status >= 500)
          surprises.push({ ...shown, status, forbidden, body: body.slice(0, 200) });
      }
      expect(surprises).toEqual([]);
    },
  );
});

/** What callers run who may run it: the corpus does reach the server. */
const RUNNING = [
  ...["tool docs_", "tool docs_read", "tool docs_READ", "tool docs___proto__"],
  ...["tool docs_delete", "tool docs_export"],
  ...["tool report", "prompt hello", "prompt review", "prompt other", "read", "subscribe", "listen"],
  ...["complete hello note", "complete other note", "complete review note", "complete review agent_id"],
  ...["complete payroll://{month} month", "complete tenant://{tenant}/{record} record"],
  ...["complete notes://list{?team,author} team", "complete notes://list{?team,author} author"],
  ...["complete file:///{+path} path", "complete file:///private/{+path} path"],
];

describe.each(HOSTS)("an MCP server with resources, prompts and tasks on $name", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createMcpResourceServer(COMPANY_TABLE), { ...LIMITS, create: createCompany });
  });
  afterAll(() => open.close());
  const { attack, attackAll } = createAttacker(() => open, isAllowedInCompany);

  it.each(Object.entries(COMPANY_CORPUS))(
    "runs only what the caller may run, for hostile %s",
    async (_, cases) => {
      expect(await attackAll(cases)).toEqual([]);
    },
  );

  it("runs what its callers may run, behind all these requests", () => {
    expect(new Set(open.backend.executions.map(({ call }) => call))).toEqual(new Set(RUNNING));
  });

  const startTask = async (sender: Colleague): Promise<string> => {
    const params = { name: "report", arguments: { team: "web" } };
    const { body } = await attack({ body: JSON.stringify(message("tools/call", params)) }, sender);
    return /"taskId":"([^"]+)"/.exec(body)?.[1] ?? "none";
  };

  it("shows and runs no task of another caller", async () => {
    const ids = { clerk: await startTask("clerk"), director: await startTask("director") };
    expect(await attackAll(taskCases(ids.director, ids.clerk, "clerk"))).toEqual([]);
    expect(await attackAll(taskCases(ids.clerk, ids.director, "director"))).toEqual([]);
    expect(await attackAll(coercedTaskCases(ids.director))).toEqual([]);
    for (const sender of ["clerk", "director", "outsider"] as const) {
      const list = message("tasks/list", {}, 2);
      for (const body of [list, [list], [message("tools/list"), list], [list, { ...list, id: 3 }]]) {
        const { body: answer } = await attack({ body: JSON.stringify(body) }, sender);
        for (const [owner, id] of Object.entries(ids)) expect(answer.includes(id)).toBe(owner === sender);
      }
    }
    for (const sender of ["clerk", "director"] as const) {
      const own = message("tasks/get", { taskId: ids[sender] });
      const { ran } = await attack({ body: JSON.stringify(own) }, sender);
      expect(ran).toMatchObject([{ user: sender, call: "task" }]);
    }
  });
});
