/** The audit, with servers of both lines of the official SDK. */
import { requireScopes } from "@modelcontextprotocol/server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { audit } from "scopegate/audit";
import { operationsOf, scopesOf } from "scopegate/mcp";
import { z } from "zod";
import { argumentsFor, type Line, LINES, type Registrar, SDK } from "./support/sdk.ts";
import { createMcp, createMcpResourceServer, TABLE, TOOLS } from "./support/tools.ts";

const respond = () => ({ content: [] });

/** A server with everything that an MCP server can offer. */
function createFull(line: Line): Registrar {
  const { Server, Template, completable } = SDK[line];
  const capabilities = { logging: {}, resources: { subscribe: true } };
  const mcp = new Server({ name: "full", version: "1.0.0" }, { capabilities });
  mcp.registerTool("search", {}, respond);
  const shape = { city: completable(z.string(), () => ["Paris"]) };
  mcp.registerPrompt("greet", { argsSchema: argumentsFor(line, shape) }, () => ({ messages: [] }));
  const read = () => ({ contents: [] });
  mcp.registerResource("readme", "docs://readme", {}, read);
  mcp.registerResource("page", new Template("docs://{page}", { list: undefined }), {}, read);
  return mcp;
}

/** A server whose `tools/list` responds in this way. */
function createListing(
  line: Line,
  list: (request: { readonly params?: { readonly cursor?: string } }) => object,
) {
  const mcp = createFull(line);
  mcp.server.setRequestHandler(line === 1 ? ListToolsRequestSchema : "tools/list", list);
  return mcp;
}

const kindsOf = (...given: Parameters<typeof audit>) =>
  audit(...given).findings.map(({ kind, severity }) => `${severity} ${kind}`);
const patternsOf = async (mcp: Registrar) => (await operationsOf(mcp)).map(({ pattern }) => pattern);

describe.each(LINES)("operationsOf a server of version %i", (line) => {
  const table = { ...TABLE, "MCP tools/call remove_agent": ["agents:<agent_id>:delete"] };

  it("passes the audit with rules for methods that clients call unasked", async () => {
    const lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    const unasked = [...lists, "logging/setLevel", "subscriptions/listen", "tasks/get", "tasks/result"];
    const rules = Object.fromEntries(unasked.map((method) => [`MCP ${method}`, []]));
    const server = createMcpResourceServer({ ...table, ...rules });
    audit(server, await operationsOf(createMcp(line))).orThrow({ warnings: true });
    const misspelled = createMcpResourceServer({ ...table, ...rules, "MCP prompts/get greet": [] });
    const { findings } = audit(misspelled, await operationsOf(createMcp(line)));
    expect(findings).toMatchObject([{ kind: "rule_unreached" }]);
  });

  it.each([
    ["MCP tools/call remove", "<agent_ids>", "Did you mean `agent_id`?"],
    ["MCP prompts/get greet", "<town>", "Its arguments: city."],
  ])("fails the audit if the rule %s names an argument %s that does not exist", async (key, name, hint) => {
    const mcp = createFull(line);
    mcp.registerTool("remove", { inputSchema: argumentsFor(line, { agent_id: z.string() }) }, respond);
    const routes = await operationsOf(mcp);
    const good = {
      "MCP tools/call remove": ["agents:<agent_id>:delete"],
      "MCP prompts/get greet": ["people:<city>:greet"],
    };
    const found = (table: object) =>
      audit(createMcpResourceServer({ ...good, ...table }), routes).findings.filter(
        ({ kind }) => kind === "rule_argument_unknown",
      );
    expect(found({})).toEqual([]);
    expect(found({ [key]: [`agents:${name}:delete`] })).toMatchObject([
      { severity: "error", hint, rule: { key } },
    ]);
  });

  const TYPES = {
    team: z.string(),
    level: z.enum(["a", "b"]),
    store_id: z.number().int(),
    amount: z.number(),
    tags: z.array(z.string()),
    urgent: z.boolean(),
    either: z.union([z.string(), z.boolean()]),
    one_or_more: z.union([z.string(), z.array(z.string())]),
    whatever: z.any(),
  };
  const createTyped = () => {
    const mcp = createFull(line);
    mcp.registerTool("typed", { inputSchema: argumentsFor(line, TYPES) }, respond);
    return mcp;
  };

  it("lists the types of the arguments of a tool", async () => {
    const routes = await operationsOf(createTyped());
    expect(routes).toContainEqual({
      method: "MCP",
      pattern: "tools/call typed",
      parameters: Object.keys(TYPES),
      parameterTypes: {
        ...{ team: "string", level: "string", store_id: "integer", amount: "number" },
        ...{ tags: "array", urgent: "boolean", either: ["string", "boolean"] },
        ...{ one_or_more: undefined, whatever: undefined },
      },
    });
  });

  it.each(Object.keys(TYPES))(
    "warns of an argument that fits no scope and no condition: %s",
    async (name) => {
      const routes = await operationsOf(createTyped());
      const where = { [name]: { claim: "tenant" } };
      for (const rule of [[`a:<${name}>:b`], { scopes: [], where }]) {
        const kinds = kindsOf(createMcpResourceServer({ "MCP tools/call typed": rule }), routes);
        expect(kinds.filter((kind) => kind.includes("rule_argument"))).toEqual(
          ["amount", "tags", "urgent"].includes(name) ? ["warning rule_argument_type"] : [],
        );
      }
    },
  );

  it.each(["roots", "sampling", "elicitation", "tasks", "extensions"])(
    "lists a tool that is only for clients with the capability %s",
    async (capability) => {
      const mcp = createFull(line);
      mcp.server.oninitialized = () => {
        if (mcp.server.getClientCapabilities()[capability]) mcp.registerTool("conditional", {}, respond);
      };
      expect(await patternsOf(mcp)).toContain("tools/call conditional");
    },
  );

  it("responds to what a server asks its client for", async () => {
    const mcp = createFull(line);
    const asked: Promise<object>[] = [];
    mcp.server.oninitialized = () => {
      asked.push(mcp.server.listRoots());
      const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
      asked.push(mcp.server.elicitInput({ mode: "form", message: "Your name?", requestedSchema }));
    };
    expect(await patternsOf(mcp)).toContain("tools/call search");
    expect(await Promise.all(asked)).toMatchObject([{ roots: [] }, { action: "cancel" }]);
  });

  it("does not report an argument of a tool that takes arguments without a description", async () => {
    const inputSchema = { type: "object", properties: {}, additionalProperties: { type: "string" } };
    const tools = [
      { name: "any", inputSchema },
      { name: "other", inputSchema: { type: "object" } },
    ];
    const routes = await operationsOf(createListing(line, () => ({ tools })));
    for (const name of ["any", "other"])
      expect(routes).toContainEqual({ method: "MCP", pattern: `tools/call ${name}` });
  });

  it("lists tools, prompts, resources, and what clients do with them", async () => {
    const routes = await operationsOf(createFull(line));
    expect(routes.every(({ method }) => method === "MCP")).toBe(true);
    expect(new Set(routes.map(({ pattern }) => pattern))).toEqual(
      new Set([
        ...["tools/list", "tools/call search", "prompts/list", "prompts/get greet", "resources/list"],
        ...["resources/read docs://readme", "resources/templates/list", "resources/read docs://{page}"],
        "logging/setLevel",
        ...(line === 2 ? ["subscriptions/listen"] : []),
      ]),
    );
  });

  it("reads every page of a list", async () => {
    const mcp = createListing(line, ({ params }) => ({
      tools: [{ name: params?.cursor ?? "first", inputSchema: { type: "object" } }],
      ...(params?.cursor === undefined && { nextCursor: "second" }),
    }));
    const patterns = await patternsOf(mcp);
    expect(patterns).toEqual(expect.arrayContaining(["tools/call first", "tools/call second"]));
  });

  it("lists nothing for a server without tools, prompts and resources", async () => {
    expect(await operationsOf(new SDK[line].Server({ name: "empty", version: "1.0.0" }))).toEqual([]);
  });

  it("leaves the server as it was, so that it can be connected", async () => {
    const mcp = createMcp(line);
    await operationsOf(mcp);
    await operationsOf(mcp);
    const [near, far] = InMemoryTransport.createLinkedPair();
    await mcp.connect(near as never);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(far);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
  });

  it("throws for a server that is connected, and for one that does not list its tools", async () => {
    const connected = createMcp(line);
    await connected.connect(InMemoryTransport.createLinkedPair()[0] as never);
    await expect(operationsOf(connected)).rejects.toThrow("connect");
    const broken = createListing(line, () => {
      throw new Error("broken");
    });
    await expect(operationsOf(broken)).rejects.toThrow("refused tools/list");
  });
});

describe("operationsOf", () => {
  it("lists no tool of a server whose list has none", async () => {
    const mcp = createMcp(1);
    mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({}));
    expect(await operationsOf(mcp)).toEqual([{ method: "MCP", pattern: "tools/list" }]);
  });

  it("explains what it accepts", async () => {
    const given = (() => undefined) as never;
    await expect(operationsOf(given)).rejects.toThrow("await operationsOf(createMcpServer())");
  });
});

describe("the audit of operations", () => {
  const scopeMappings = { "MCP resources/read *": ["docs:read"], "MCP resources/read docs://{page}": [] };
  const findings = (...patterns: readonly string[]) =>
    kindsOf(
      createMcpResourceServer(scopeMappings),
      patterns.map((pattern) => ({ method: "MCP", pattern })),
    );

  it("finds the rule for every resource for a template that cannot be a key", () => {
    expect(findings("resources/read docs://{page*}", "resources/read docs://{page}")).toEqual([]);
  });

  it("reports a template that an earlier and wider one hides from the SDK", () => {
    const [wide, narrow] = ["resources/read docs://{+path}", "resources/read docs://{page}"];
    expect(findings(narrow, wide)).toEqual([]);
    expect(findings(wide, narrow)).toEqual(["warning route_hidden"]);
  });

  it.each([
    [["docs:read"], []],
    [["docs:write"], ["error scopes_differ"]],
    [["docs:read", "docs:write"], ["error scopes_differ"]],
    [[], ["error scopes_differ"]],
  ])("compares the scopes %j of the code with the table", (scopes, expected) => {
    const server = createMcpResourceServer({ "MCP tools/call search": ["docs:read"] });
    expect(kindsOf(server, [{ method: "MCP", pattern: "tools/call search", scopes }])).toEqual(expected);
  });
});

describe("a scopeChallenge that depends on the call", () => {
  interface Context {
    readonly request: { readonly params: { readonly arguments?: Readonly<Record<string, unknown>> } };
    readonly authInfo: { readonly extra: { readonly tenant: string } };
  }
  const scopeOf = (id: unknown) => ({ scopes: [`stores:${String(id)}:read`] });

  it.each([
    ["arguments", ({ request }: Context) => scopeOf(request.params.arguments?.["store_id"])],
    [
      "arguments later",
      ({ request }: Context) =>
        Promise.resolve().then(() => scopeOf({ ...request.params.arguments }["store_id"])),
    ],
    ["a caller", ({ authInfo }: Context) => scopeOf(authInfo.extra.tenant)],
  ])("is a note that names the tool, if it reads %s", async (_, scopeChallenge) => {
    const mcp = createFull(2);
    const inputSchema = z.object({ store_id: z.string() });
    mcp.registerTool("report", { inputSchema, scopeChallenge }, respond);
    const routes = await operationsOf(mcp);
    const server = createMcpResourceServer({ "MCP tools/call report": ["stores:<store_id>:read"] });
    const { findings } = audit(server, routes);
    expect(findings.filter(({ kind }) => kind.startsWith("scopes_"))).toMatchObject([
      { kind: "scopes_unknown", severity: "note", route: { pattern: "tools/call report" } },
    ]);
    expect(findings.find(({ kind }) => kind === "scopes_unknown")?.message).toContain(
      "`MCP tools/call report`",
    );
    expect(await scopesOf(mcp)).not.toHaveProperty(["MCP tools/call report"]);
  });

  it("is compared if it reads neither", async () => {
    const mcp = createFull(2);
    const scopeChallenge = ({ request: { params } }: Context) => ({
      scopes: params.arguments ? ["stores:read"] : [],
    });
    mcp.registerTool("report", { scopeChallenge }, respond);
    expect(await operationsOf(mcp)).toContainEqual(
      expect.objectContaining({ pattern: "tools/call report", scopes: ["stores:read"] }),
    );
  });
});

describe.each(LINES)("scopesOf a server of version %i", (line) => {
  it("returns the declared scopes, and leaves out what declares none or would be a pattern", async () => {
    const mcp = createFull(line);
    const scopes = { "scopegate/scopes": ["docs:write"] };
    mcp.registerTool("write", { _meta: scopes }, respond);
    mcp.registerTool("all*", { _meta: scopes }, respond);
    mcp.registerTool("delete", { scopeChallenge: requireScopes("docs:delete") }, respond);
    const table = await scopesOf(mcp);
    expect(table).toMatchObject({ "MCP tools/list": [], "MCP tools/call write": ["docs:write"] });
    expect(table["MCP tools/call delete"]).toEqual(line === 2 ? ["docs:delete"] : undefined);
    for (const key of ["MCP tools/call search", "MCP tools/call all*"])
      expect(table).not.toHaveProperty([key]);
    expect(() => createMcpResourceServer({ "* /mcp": [], ...table })).not.toThrow();
  });
});
