/** The paths of MCP servers: keys for one path, and parameters that no argument can replace. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect, it } from "vitest";
import { createResourceServer, type ConfigurationIssue, type Rule } from "scopegate";
import { audit, type AuditFinding, type ListedRoute } from "scopegate/audit";
import { callerConditions } from "scopegate/conditions";
import { mcpOperations, operationsOf, scopesOf } from "scopegate/mcp";
import { accessMatrix } from "scopegate/testing";
import { issuer, thrownBy } from "../../support/resource-servers.ts";

type Options = Parameters<typeof createResourceServer>[0];
type Scopes = readonly string[];

const create = (
  scopeMappings: Options["scopeMappings"],
  paths: readonly string[] = ["/t/:org/mcp"],
  options: Partial<Options> = {},
) =>
  createResourceServer({
    serviceId: "docs",
    verificationKeys: [issuer.publicPem],
    mcp: mcpOperations({ paths }),
    conditions: callerConditions(),
    scopeMappings: { "* /{*path}": [], ...scopeMappings },
    ...options,
  });

const issuesOf = (...parameters: Parameters<typeof create>): readonly ConfigurationIssue[] =>
  thrownBy(() => create(...parameters)).issues;

describe("an operation at a path with parameters", () => {
  const ask = async (
    server: ReturnType<typeof create>,
    target: string,
    scopes: Scopes,
    params: object = {},
    claims: object = {},
  ) => {
    const token = issuer.token({ aud: "docs", scopes, ...claims });
    const decision = await server.check({
      method: "MCP",
      target,
      authorization: `Bearer ${await token}`,
      params: params as Record<string, string>,
    });
    return decision.allowed ? "allowed" : decision.reason;
  };

  it("fills scopes with the value of the path", async () => {
    const server = create({ "MCP tools/call search": ["orgs:<org>:use"] });
    const scopes = ["orgs:acme:use"];
    expect(await ask(server, "/t/acme/mcp tools/call search", scopes)).toBe("allowed");
    expect(await ask(server, "/t/victim/mcp tools/call search", scopes)).toBe("scope_insufficient");
    expect(await ask(server, "/t/%61cme/mcp tools/call search", scopes)).toBe("allowed");
  });

  it.each(["/t/victim/mcp", "/T/victim/MCP", "/t/victim/mcp/"])(
    "never reads an argument with the name of the parameter, at %s",
    async (path) => {
      const server = create({
        "MCP tools/call search": ["orgs:<org>:use"],
        "MCP tools/call other": { scopes: [], where: { org: { claim: "org_id" } } },
      });
      const own = { org: "acme" };
      expect(await ask(server, `${path} tools/call search`, ["orgs:acme:use"], own)).toBe(
        "scope_insufficient",
      );
      expect(await ask(server, `${path} tools/call other`, [], own, { org_id: "acme" })).toBe(
        "caller_not_allowed",
      );
    },
  );

  it("compares the value of the path with a claim, also for lists and resources", async () => {
    const where = { org: { claim: "org_id" } };
    const server = create({
      "MCP tools/list": { scopes: [], where },
      "MCP resources/read docs://{page}": { scopes: ["pages:<page>:read"], where },
    });
    const claims = { org_id: "acme" };
    expect(await ask(server, "/t/acme/mcp tools/list", [], {}, claims)).toBe("allowed");
    expect(await ask(server, "/t/victim/mcp tools/list", [], {}, claims)).toBe("caller_not_allowed");
    const scopes = ["pages:a:read"];
    const at = (org: string, page: string) => `/t/${org}/mcp resources/read docs://${page}`;
    expect(await ask(server, at("acme", "a"), scopes, {}, claims)).toBe("allowed");
    expect(await ask(server, at("acme", "b"), scopes, {}, claims)).toBe("scope_insufficient");
    expect(await ask(server, at("victim", "a"), scopes, {}, claims)).toBe("caller_not_allowed");
  });

  it("is refused at a path that isn't a transport's, whatever `unmappedRoutes` is", async () => {
    const server = create({ "MCP tools/call search": [] }, undefined, { unmappedRoutes: "authenticated" });
    for (const path of ["/", "/mcp", "/t/mcp", "/t/acme/mcp/x", "/t/a/b/mcp"])
      expect(await ask(server, `${path} tools/call search`, [])).toBe("route_unmapped");
    for (const path of ["/t//mcp", "/t/../mcp", "/t/%2f/mcp", "/t/a;b/mcp"])
      expect(await ask(server, `${path} tools/call search`, [])).toBe("request_ambiguous");
  });

  it("needs a grant for every value where the path isn't known", async () => {
    const server = create({ "MCP tools/call search": ["orgs:<org>:use"] });
    expect(await ask(server, "tools/call search", ["orgs:acme:use"], { org: "acme" })).toBe(
      "scope_insufficient",
    );
    expect(await ask(server, "tools/call search", ["orgs:use"])).toBe("allowed");
  });

  const PATHS = ["/a/mcp", "/b/mcp"];

  it("is only one", () => {
    expect(() => create({ "MCP /a/mcp /b/mcp tools/call find": [] }, PATHS)).toThrow("`/b/mcp`");
  });

  it("can be a list that needs a scope for at least one id", async () => {
    const table = {
      "MCP /a/mcp tools/list": ["docs:<any>:read"],
      "MCP /a/mcp tools/call find": ["docs:<any>:read"],
    };
    const server = create(table, PATHS);
    for (const operation of ["tools/list", "tools/call find"]) {
      expect(await ask(server, `/a/mcp ${operation}`, ["docs:7:read"])).toBe("allowed");
      expect(await ask(server, `/a/mcp ${operation}`, ["docs:7:write"])).toBe("scope_insufficient");
    }
  });

  it("has the rule of its path, or else the rule of all paths", async () => {
    const server = create(
      {
        "MCP /a/mcp tools/call search": ["a:use"],
        "MCP tools/call search": ["all:use"],
        "MCP tools/list": [],
      },
      PATHS,
    );
    expect(await ask(server, "/a/mcp tools/call search", ["a:use"])).toBe("allowed");
    expect(await ask(server, "/a/mcp tools/call search", ["all:use"])).toBe("scope_insufficient");
    expect(await ask(server, "/b/mcp tools/call search", ["all:use"])).toBe("allowed");
    expect(await ask(server, "/b/mcp tools/call search", ["a:use"])).toBe("scope_insufficient");
    expect(await ask(server, "/a/mcp tools/list", [])).toBe("allowed");
    // Without a path, the rules of both count.
    expect(await ask(server, "tools/call search", ["all:use"])).toBe("scope_insufficient");
    expect(await ask(server, "tools/call search", ["all:use", "a:use"])).toBe("allowed");
  });

  it("has no rule at another path than that of its key", async () => {
    const server = create({ "MCP /a/mcp tools/call search": [] }, PATHS);
    expect(await ask(server, "/a/mcp tools/call search", [])).toBe("allowed");
    expect(await ask(server, "/b/mcp tools/call search", [])).toBe("route_unmapped");
    expect(await ask(server, "tools/call search", [])).toBe("route_unmapped");
  });

  it("must satisfy both rules if one has the narrower path, and the other one the narrower name", async () => {
    const table = { "MCP /a/mcp tools/call *": ["a:use"], "MCP tools/call search": ["docs:read"] };
    const server = create(table, PATHS);
    const target = "/a/mcp tools/call search";
    expect(await ask(server, target, ["a:use"])).toBe("scope_insufficient");
    expect(await ask(server, target, ["docs:read"])).toBe("scope_insufficient");
    expect(await ask(server, target, ["docs:read", "a:use"])).toBe("allowed");
    expect(await ask(server, "/a/mcp tools/call other", ["a:use"])).toBe("allowed");
    expect(await ask(server, "/b/mcp tools/call search", ["docs:read"])).toBe("allowed");
    const own = create({ ...table, "MCP /a/mcp tools/call search": [] }, PATHS);
    expect(await ask(own, target, [])).toBe("allowed");
  });

  it("is restricted by the conditions of every rule for its name, at any path", async () => {
    const server = create(
      {
        "MCP tools/call *": { scopes: [], actors: "none" },
        "MCP /a/mcp tools/call search": [],
        "MCP /a/mcp tools/call *": { scopes: [], clients: ["web"] },
      },
      PATHS,
    );
    const target = "/a/mcp tools/call search";
    expect(await ask(server, target, [], {}, { client_id: "web" })).toBe("allowed");
    expect(await ask(server, target, [], {}, { client_id: "cli" })).toBe("caller_not_allowed");
    expect(await ask(server, target, [], {}, { client_id: "web", act: { sub: "x" } })).toBe(
      "caller_not_allowed",
    );
    expect(await ask(server, "/b/mcp tools/call search", [], {}, { client_id: "cli" })).toBe("allowed");
  });

  it("finds the tenant's tasks and rules by every method", async () => {
    const server = create({ "MCP /a/mcp tasks/get": ["tasks:read"] }, PATHS);
    expect(await ask(server, "/a/mcp tasks/get", ["tasks:read"])).toBe("allowed");
  });
});

describe("the paths of mcpOperations", () => {
  it("must have the path of each key", () => {
    expect(issuesOf({ "MCP /a/mcp tools/call search": [] })).toMatchObject([
      {
        code: "route_key_invalid",
        path: ["scopeMappings", "MCP /a/mcp tools/call search"],
        message: "`/a/mcp` isn't one of the `paths` of the transport.",
        hint: 'Write mcp: mcpOperations({ paths: ["/a/mcp"] }).',
      },
    ]);
    expect(issuesOf({ "MCP /a/mpc tools/list": [] }, ["/a/mcp"])[0]?.hint).toContain("Did you mean");
  });

  it.each([["/mcp/*rest"], ["/mcp{/*rest}"], ["mcp"], [""], ["/t/:any/mcp"], ["/mcp{/}"], [5]])(
    "rejects %j",
    (path) => {
      expect(issuesOf({}, [path as string])).toMatchObject([
        { path: ["mcp", "paths", 0], hint: expect.stringContaining("`/t/:org/mcp`") as string },
      ]);
    },
  );

  it("rejects none, and two that one request can have", () => {
    expect(issuesOf({}, [])).toMatchObject([{ path: ["mcp", "paths"] }]);
    expect(issuesOf({}, ["/t/:org/mcp", "/t/acme/mcp"])).toMatchObject([
      { path: ["mcp", "paths"], hint: expect.stringContaining("no request has two") as string },
    ]);
    expect(issuesOf({}, ["/a/mcp", "/A/mcp"])).toMatchObject([{ path: ["mcp", "paths"] }]);
  });

  it("have no parameter that is also a variable of a URI: the client chooses that one", () => {
    expect(issuesOf({ "MCP resources/read docs://{org}/{page}": [] })).toMatchObject([
      { code: "route_key_invalid", hint: "Give the variable another name." },
    ]);
  });

  it("report a rule without a token that the conditions of another path's or name's rule close", () => {
    const table = {
      "MCP /a/mcp tools/call *": { scopes: [], actors: "none" as const },
      "MCP tools/call search": "public" as const,
    };
    expect(issuesOf(table, ["/a/mcp", "/b/mcp"])).toMatchObject([
      {
        code: "exception_missing",
        path: ["scopeMappings", "MCP tools/call search"],
        message: expect.stringContaining("MCP /a/mcp tools/call search") as string,
      },
    ]);
  });

  it("are reported by the audit where a tool has an argument with the name of a parameter", () => {
    const server = create({ "MCP tools/call search": ["orgs:<org>:use"] });
    const list = (parameters: readonly string[]) =>
      audit(server, [{ method: "MCP", pattern: "tools/call search", parameters }]).findings;
    expect(list(["query", "org"])).toMatchObject([{ kind: "argument_of_path", severity: "warning" }]);
    expect(list(["query"])).toEqual([]);
  });
});

describe("two servers at paths of their own", () => {
  const TABLE = {
    "MCP /t/:org/mcp tools/list": [],
    "MCP /t/:org/mcp tools/call search": ["orgs:<org>:read"],
    "MCP /t/:org/mcp tools/call docs_*": ["docs:read"],
    "MCP /admin/mcp tools/list": [],
    "MCP /admin/mcp tools/call search": ["admin:search"],
    "MCP /admin/mcp resources/read note://{id}": ["notes:<id>:read"],
  };
  const server = create(TABLE, ["/t/:org/mcp", "/admin/mcp"]);
  const mcp = (...tools: readonly string[]) => {
    const created = new McpServer({ name: "docs", version: "1" });
    for (const tool of tools)
      created.registerTool(tool, { _meta: { "scopegate/scopes": ["x:y"] } }, () => ({ content: [] }));
    return created;
  };

  it("are listed with their paths, and compared with the keys for them", async () => {
    const operations = await operationsOf(mcp("search", "remove"), "/admin/mcp");
    const patterns = ["tools/list", "tools/call search", "tools/call remove"];
    expect(operations.map(({ pattern }) => pattern)).toEqual(patterns.map((each) => `/admin/mcp ${each}`));
    const { findings } = audit(server, operations);
    const named = findings.map((finding) => {
      const { rule, route } = finding as Partial<AuditFinding & { rule: Rule; route: ListedRoute }>;
      return [finding.kind, rule?.key ?? route?.pattern];
    });
    expect(named).toEqual([
      ["scopes_differ", "MCP /admin/mcp tools/call search"],
      ["route_unmapped", "/admin/mcp tools/call remove"],
      ["rule_unreached", "MCP /t/:org/mcp tools/call search"],
      ["rule_unreached", "MCP /t/:org/mcp tools/call docs_*"],
      ["rule_unreached", "MCP /admin/mcp resources/read note://{id}"],
    ]);
  });

  it("declare keys for their paths", async () => {
    const scopes = await scopesOf(mcp("search"), "/admin/mcp");
    expect(scopes).toEqual({
      "MCP /admin/mcp tools/list": [],
      "MCP /admin/mcp tools/call search": ["x:y"],
    });
  });

  it("may both have a template that is narrower than one of the other server", () => {
    const list = (path: string) =>
      audit(server, [
        { method: "MCP", pattern: "/t/:org/mcp resources/read note://{+id}" },
        { method: "MCP", pattern: `${path} resources/read note://{id}` },
      ]).findings.filter(({ kind }) => kind === "route_hidden");
    expect(list("/admin/mcp")).toEqual([]);
    expect(list("/t/:org/mcp")).toHaveLength(1);
  });

  it("have columns in the access matrix, each with a path that a client can send", async () => {
    const callers = { acme: { scopes: ["orgs:acme:read", "docs:read"] } };
    const matrix = await accessMatrix(server, { callers, params: { org: "acme" } });
    const cells = matrix.cells.map(({ route, decision }) => [route, decision.allowed]);
    expect(cells.filter(([route]) => String(route).startsWith("MCP"))).toEqual([
      ["MCP /t/acme/mcp tools/list", true],
      ["MCP /t/acme/mcp tools/call search", true],
      ["MCP /t/acme/mcp tools/call docs_x", true],
      ["MCP /admin/mcp tools/list", true],
      ["MCP /admin/mcp tools/call search", false],
      ["MCP /admin/mcp resources/read note://id", false],
    ]);
    expect(matrix.unasked).toEqual([]);
    const other = await accessMatrix(server, { callers });
    const refused = other.cells.find(({ route }) => route === "MCP /t/org/mcp tools/call search");
    expect(refused?.decision.allowed).toBe(false);
  });
});
