/** An MCP server with everything that a client can call, its table, and a second model of who may call what. */
import { z } from "zod";
import type { ResourceServerOptions } from "../../../support/server.ts";
import { type CreateMcp, currentUser } from "./backend.ts";
import { argumentsFor, SDK, type Values } from "./sdk.ts";
import { issuer, type Execution } from "./tools.ts";

/** The tools `docs`, `DOCS_read`, `docsread` and `my_docs_read` have no rule. */
export const COMPANY_TABLE = {
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP tools/call docs_*": ["docs:read"],
  "MCP tools/call docs_delete": ["docs:delete"],
  "MCP tools/call docs_export": ["docs:<doc>:export"],
  "MCP tools/call report": ["reports:<team>:write"],
  "MCP prompts/get *": ["prompts:read"],
  "MCP prompts/get hello": [],
  "MCP prompts/get review": ["agents:<agent_id>:run"],
  "MCP resources/read docs://handbook": [],
  "MCP resources/read docs://salaries": ["salaries:read"],
  "MCP resources/read https://docs.example/salaries": ["salaries:read"],
  "MCP resources/read payroll://{month}": ["payroll:<month>:read"],
  "MCP resources/read tenant://{tenant}/{record}": {
    scopes: ["tenants:read"],
    where: { tenant: { claim: "tenant" } },
  },
  "MCP resources/read notes://list{?team,author}": ["notes:<author>:read"],
  "MCP resources/read file:///{+path}": ["files:read"],
  "MCP resources/read file:///private/{+path}": ["private:read"],
  "MCP resources/read file:///etc/passwd": ["root:read"],
  "MCP subscriptions/listen": [],
  "MCP tasks/list": [],
  "MCP tasks/get": [],
  "MCP tasks/result": [],
  "MCP tasks/update": [],
  "MCP tasks/cancel": [],
} satisfies ResourceServerOptions["scopeMappings"];

/** The callers, each with the claim `tenant` `acme`. `clerk` may use one value of each variable. */
export const COMPANY_SCOPES = {
  outsider: [],
  clerk: [
    ...["docs:read", "docs:a:export", "files:read", "payroll:may:read", "tenants:read", "notes:ann:read"],
    ...["agents:web:run", "reports:web:write"],
  ],
  director: [
    ...["docs:read", "docs:delete", "docs:export", "salaries:read", "payroll:read", "tenants:read"],
    ...["notes:read", "files:read", "private:read", "root:read", "agents:run", "reports:write"],
    "prompts:read",
  ],
} as const;
export type Colleague = keyof typeof COMPANY_SCOPES;

export const companyToken = (userId: Colleague, options = {}) =>
  issuer.token({ userId, scopes: [...COMPANY_SCOPES[userId]], claims: { tenant: "acme" }, ...options });

/** What the table allows, written down a second time, by what ran. */
export function isAllowedInCompany({ user, call, values = {} }: Execution): boolean {
  if (user === undefined || !Object.hasOwn(COMPANY_SCOPES, user)) return false;
  const scopes: readonly string[] = COMPANY_SCOPES[user as Colleague];
  const has = (scope: string): boolean => scopes.includes(scope);
  /** A value that is not certain needs the scope for all values. */
  const hasFor = (resource: string, value: unknown, action: string): boolean =>
    has(`${resource}:${action}`) || (typeof value === "string" && has(`${resource}:${value}:${action}`));
  const mayGet = (prompt: string, agent: unknown): boolean =>
    prompt === "hello" || (prompt === "review" ? hasFor("agents", agent, "run") : has("prompts:read"));
  const mayRead = (uri: string): boolean => {
    const [, month] = /^payroll:\/\/([^/]+)$/.exec(uri) ?? [];
    const [, tenant] = /^tenant:\/\/([^/]+)\/[^/]+$/.exec(uri) ?? [];
    const [, author] = /^notes:\/\/list\?team=[^&]+&author=([^&]+)$/.exec(uri) ?? [];
    if (uri === "docs://handbook") return true;
    if (uri === "docs://salaries" || uri === "https://docs.example/salaries") return has("salaries:read");
    if (month !== undefined) return hasFor("payroll", month, "read");
    if (tenant !== undefined) return has("tenants:read") && tenant === "acme";
    if (author !== undefined) return hasFor("notes", author, "read");
    if (uri === "file:///etc/passwd") return has("root:read");
    if (/^file:\/\/\/private\/./s.test(uri)) return has("private:read");
    return /^file:\/\/\/./s.test(uri) && has("files:read");
  };
  const [kind, name = "", argument = ""] = call.split(" ");
  switch (kind) {
    case "tool":
      if (name === "docs_delete") return has("docs:delete");
      if (name === "docs_export") return hasFor("docs", values["doc"], "export");
      if (name === "report") return hasFor("reports", values["team"], "write");
      return name.startsWith("docs_") && has("docs:read");
    case "prompt":
      return mayGet(name, values["agent_id"]);
    case "read":
    case "listen":
    case "subscribe":
    case "unsubscribe":
      return readingsOf(String(values["uri"])).every(mayRead);
    case "complete": {
      const valueOf = (wanted: string) => (argument === wanted ? undefined : values[wanted]);
      if (!name.includes(":")) return mayGet(name, valueOf("agent_id"));
      if (name === "payroll://{month}") return has("payroll:read");
      if (name === "tenant://{tenant}/{record}") return has("tenants:read") && valueOf("tenant") === "acme";
      if (name === "notes://list{?team,author}") return hasFor("notes", valueOf("author"), "read");
      return name === "file:///{+path}" ? has("files:read") : has("private:read");
    }
    case "task":
      // A server that is not the SDK's may read `["id"]` as `id`.
      return ownerOfTask.get([values["taskId"]].flat(9).join()) === user;
    default:
      return false;
  }
}

/** The ways in which a server may read a URI: as the SDK does, and with its letters and digits decoded. */
function readingsOf(uri: string): readonly string[] {
  const href = URL.canParse(uri) ? new URL(uri).href : uri;
  return [href, href.replace(/%(?:2d|2e|5f|7e|3\d|[46][1-9a-f]|[57][0-9a])/gi, decodeURIComponent)];
}

const ownerOfTask = new Map<string, string | undefined>();

export const COMPANY_TOOLS = [
  ...["docs_read", "docs_delete", "docs_export", "docs_", "docs___proto__", "docs_READ"],
  ...["docs", "DOCS_read", "docsread", "my_docs_read"],
];

/** The narrower template of files comes last: the SDK runs the first one that matches. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  "payroll://{month}": ["month"],
  "tenant://{tenant}/{record}": ["tenant", "record"],
  "notes://list{?team,author}": ["team", "author"],
  "file:///{+path}": ["path"],
  "file:///private/{+path}": ["path"],
};

const CAPABILITIES = {
  resources: { subscribe: true, listChanged: true },
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};

/** It runs whatever the SDK finds, so that only scopegate can refuse it. */
export const createCompany: CreateMcp = (line, executions) => {
  const { Server, Template, completable } = SDK[line];
  const mcp = new Server({ name: "company", version: "1.0.0" }, { capabilities: CAPABILITIES });
  const run = (call: string, values: Values = {}): void =>
    void executions.push({ user: currentUser(), call, values });
  const completer =
    (name: string, argument: string) =>
    (_: string, context?: { readonly arguments?: Values }): readonly string[] => {
      run(`complete ${name} ${argument}`, context?.arguments);
      return [];
    };

  for (const tool of COMPANY_TOOLS)
    mcp.registerTool(tool, { inputSchema: z.looseObject({}) }, (values: Values) => {
      run(`tool ${tool}`, values);
      return { content: [] };
    });
  mcp.registerTool("report", { inputSchema: z.looseObject({}) }, (values: Values) => {
    run("tool report", values);
    const taskId = `Task-${ownerOfTask.size}-k`;
    ownerOfTask.set(taskId, currentUser());
    return { content: [], task: { taskId, status: "working" } };
  });

  for (const prompt of ["hello", "review", "other"]) {
    const shape = Object.fromEntries(
      ["agent_id", "note"].map((argument) => [
        argument,
        // Each line finds the completion at another place.
        line === 1
          ? completable(z.string().optional(), completer(prompt, argument))
          : completable(z.string(), completer(prompt, argument)).optional(),
      ]),
    );
    mcp.registerPrompt(prompt, { argsSchema: argumentsFor(line, shape) }, (values: Values) => {
      run(`prompt ${prompt}`, values);
      return { messages: [] };
    });
  }

  const read = (uri: URL, variables: Values): object => {
    run("read", { ...variables, uri: uri.href });
    return { contents: [] };
  };
  for (const uri of ["docs://handbook", "docs://salaries", "https://docs.example/salaries"])
    mcp.registerResource(uri, uri, {}, read);
  for (const [uri, variables] of Object.entries(TEMPLATES)) {
    const complete = Object.fromEntries(variables.map((variable) => [variable, completer(uri, variable)]));
    mcp.registerResource(uri, new Template(uri, { list: undefined, complete }), {}, read);
  }

  const handle = (method: string, handler: (values: Values) => object): void => {
    const params = z.looseObject({});
    if (line === 2) mcp.server.setRequestHandler(method, { params }, handler);
    else
      mcp.server.setRequestHandler(
        z.object({ method: z.literal(method), params: params.optional() }),
        ({ params: values = {} }: { readonly params?: Values }) => handler(values),
      );
  };
  for (const verb of ["subscribe", "unsubscribe"])
    handle(`resources/${verb}`, (values) => {
      run(verb, values);
      return {};
    });
  for (const verb of ["get", "result", "update", "cancel"])
    handle(`tasks/${verb}`, (values) => {
      run("task", values);
      return {};
    });
  handle("tasks/list", () => ({
    tasks: [...ownerOfTask.keys()].map((taskId) => ({ taskId, status: "working" })),
  }));
  return mcp;
};
