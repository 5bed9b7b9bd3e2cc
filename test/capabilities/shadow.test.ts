/**
 * A second table that decides every question after the first one, and enforces nothing. Random tables, requests and
 * callers are compared in test/model/random.test.ts.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createResourceServer as createPlain,
  type Decision,
  type ResourceServer,
  type ScopeMappings,
} from "scopegate";
import { explain } from "scopegate/explain";
import { protect } from "scopegate/express";
import { protectMcp } from "scopegate/mcp";
import { shadowTable } from "scopegate/shadow";
import * as trpc from "scopegate/trpc";
import { pipelineOf } from "../../src/core/port.ts";
import { listenBehindNode } from "../adapters/trpc/hosts.ts";
import { EXPRESS_VERSIONS, serve, statusWith } from "../support/frameworks.ts";
import { withPollution } from "../support/polluted-prototype.ts";
import { createServer, issuer, mistakesOf, NOW, thrownBy } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const warn = vi.fn();
beforeEach(() => {
  warn.mockReset();
  vi.spyOn(process, "emitWarning").mockImplementation(warn);
});
afterEach(() => vi.restoreAllMocks());

type Options = Partial<ResourceServerOptions>;
type TableEntry = ScopeMappings["GET /"];

/** A server that enforces one table, and compares it with another one. */
const serverWith = (enforced: ScopeMappings, shadow: ScopeMappings, options: Options = {}): ResourceServer =>
  createServer({ scopeMappings: enforced, shadow: shadowTable({ scopeMappings: shadow }), ...options });

/** A server that also keeps what `onDecision` receives. */
function createObserved(enforced: ScopeMappings, shadow: ScopeMappings, options: Options = {}) {
  const onDecision = vi.fn<NonNullable<ResourceServerOptions["onDecision"]>>();
  const server = serverWith(enforced, shadow, { onDecision, ...options });
  return { server, decisions: () => onDecision.mock.calls.map(([decision]) => decision) };
}

const tokens = new Map<string, Promise<string>>();
/** A token with these scopes, signed once. */
function tokenWith(...scopes: readonly string[]): Promise<string> {
  const key = scopes.join(" ");
  const token = tokens.get(key) ?? issuer.token({ sub: "u1", scopes });
  tokens.set(key, token);
  return token;
}

/** The values of `Authorization`, by the name of what is wrong with the credential. */
const CREDENTIALS: Readonly<Record<string, () => Promise<string | undefined>>> = {
  none: () => Promise.resolve(undefined),
  malformed: () => Promise.resolve("Bearer a b"),
  forged: async () => `Bearer ${await tokenWith("a:read")}x`,
  expired: async () => `Bearer ${await issuer.token({ scopes: ["a:read"], exp: NOW - 1 })}`,
  unscoped: async () => `Bearer ${await tokenWith()}`,
  "a:read": async () => `Bearer ${await tokenWith("a:read")}`,
};

/** Asks a server, with one of the credentials above. */
const ask = async (server: ResourceServer, target: string, credential = "unscoped"): Promise<Decision> =>
  server.check({ method: "GET", target, authorization: await CREDENTIALS[credential]?.() });

/** `"allowed"`, the reason of a refusal, or `"undecided"`. */
function resultOf(decision: Decision | "undecided" | undefined): string | undefined {
  if (decision === undefined || decision === "undecided") return decision;
  return decision.allowed ? "allowed" : decision.reason;
}

/** The results of both tables; of the shadow only where it differs. */
const resultsOf = (decision: Decision) => [resultOf(decision), resultOf(decision.shadow)];

/** A decision without what a shadow adds. Principals of two servers are never equal. */
const enforcedIn = ({ shadow: _, principal, ...facts }: Decision): object => ({
  ...facts,
  userId: principal?.userId,
});

describe("decision.shadow", () => {
  it.each<readonly [TableEntry | undefined, TableEntry | undefined, string, string, string | undefined]>([
    // A caller is known.
    [[], ["a:read"], "unscoped", "allowed", "scope_insufficient"],
    [[], ["a:read"], "a:read", "allowed", undefined],
    [["a:read"], [], "unscoped", "scope_insufficient", "allowed"],
    [["b:read"], ["c:read"], "unscoped", "scope_insufficient", undefined],
    [["b:read"], { scopes: [], clients: ["app"] }, "unscoped", "scope_insufficient", "caller_not_allowed"],
    [[], undefined, "unscoped", "allowed", "route_unmapped"],
    [[], "public", "unscoped", "allowed", undefined],
    ["optional", ["a:read"], "unscoped", "allowed", "scope_insufficient"],
    // No credential was sent.
    [[], "optional", "none", "credential_missing", "allowed"],
    [[], "public", "none", "credential_missing", "allowed"],
    [[], ["a:read"], "none", "credential_missing", undefined],
    [[], undefined, "none", "credential_missing", "route_unmapped"],
    ["optional", [], "none", "allowed", "credential_missing"],
    ["optional", "public", "none", "allowed", undefined],
    // A credential was refused.
    [[], ["a:read"], "forged", "token_rejected", "undecided"],
    [[], ["a:read"], "expired", "token_rejected", "undecided"],
    [[], ["a:read"], "malformed", "credential_malformed", "undecided"],
    [[], [], "forged", "token_rejected", "undecided"],
    [[], "optional", "forged", "token_rejected", "undecided"],
    [[], "public", "forged", "token_rejected", "allowed"],
    [[], undefined, "forged", "token_rejected", "route_unmapped"],
    // The first table needs no credential, so none was read.
    ["public", ["a:read"], "a:read", "allowed", "undecided"],
    ["public", [], "none", "allowed", "undecided"],
    ["public", "optional", "none", "allowed", "undecided"],
    ["public", "public", "forged", "allowed", undefined],
    ["public", undefined, "none", "allowed", "route_unmapped"],
    [undefined, ["a:read"], "a:read", "route_unmapped", "undecided"],
    [undefined, [], "none", "route_unmapped", "undecided"],
    [undefined, "public", "none", "route_unmapped", "allowed"],
    [undefined, undefined, "a:read", "route_unmapped", undefined],
  ])(
    "compares %j with %j, with the credential %s: %s, %s",
    async (first, second, credential, ...expected) => {
      const tableOf = (entry: TableEntry | undefined): ScopeMappings => (entry ? { "GET /a": entry } : {});
      const decision = await ask(serverWith(tableOf(first), tableOf(second)), "/a", credential);
      expect(resultsOf(decision)).toEqual(expected);
      if (expected[1] === undefined) expect(decision).not.toHaveProperty("shadow");
    },
  );

  it("is the whole decision of the second table for the same caller", async () => {
    const table: ScopeMappings = { "GET /a/:id": { anyOf: ["a:<id>:read", "b:<id>:read"] } };
    const decision = await ask(serverWith({ "GET /a/:id": [] }, table), "/a/7", "a:read");
    expect(decision).not.toHaveProperty("shadow");
    const refused = await ask(serverWith({ "GET /a/:id": [] }, table), "/a/7");
    expect(enforcedIn(refused.shadow as Decision)).toEqual(
      enforcedIn(await ask(createServer({ scopeMappings: table }), "/a/7")),
    );
    expect((refused.shadow as Decision).principal).toBe(refused.principal);
    expect([refused, refused.shadow].every(Object.isFrozen)).toBe(true);
  });

  it("compares the conditions of both tables", async () => {
    const scopes: TableEntry = { scopes: [], maxAuthAgeSeconds: 60 };
    const server = serverWith(
      { "GET /a": [] },
      { "* /{*path}": { scopes: [], actors: "none" }, "GET /a": scopes },
    );
    const token = await issuer.token({ scopes: [], sub: "u1", auth_time: NOW, act: { sub: "agent" } });
    const decision = await server.check({ method: "GET", target: "/a", authorization: `Bearer ${token}` });
    expect(decision.shadow).toMatchObject({ reason: "caller_not_allowed", condition: "actors" });
  });

  it("is undecided about a revoked token, and about a token without the proof of its key", async () => {
    const tables = [{ "GET /a": [] }, { "GET /a": ["a:read"] }] as const;
    const revoking = serverWith(...tables, { isRevoked: () => true });
    const revoked = await ask(revoking, "/a");
    expect(revoked.principal?.userId).toBe("u1");
    expect(resultsOf(revoked)).toEqual(["token_rejected", "undecided"]);
    const polluted = await withPollution({ condition: "where" }, () => ask(revoking, "/a"));
    expect(resultsOf(polluted)).toEqual(["token_rejected", "undecided"]);
    const bound = serverWith(...tables, { senderConstraint: { mtls: { from: "socket" }, required: true } });
    expect(resultsOf(await ask(bound, "/a"))).toEqual(["proof_missing", "undecided"]);
  });

  it("uses the server's scopes of administrators and of roles", async () => {
    const options = { adminScope: "root", impliedScopes: { editor: ["a:read"] } };
    const server = serverWith({ "GET /a": [] }, { "GET /a": ["a:read"] }, options);
    for (const [scope, expected] of [
      ["root", undefined],
      ["editor", undefined],
      ["other", "scope_insufficient"],
    ] as const) {
      const authorization = `Bearer ${await tokenWith(scope)}`;
      const { shadow } = await server.check({ method: "GET", target: "/a", authorization });
      expect(resultOf(shadow)).toBe(expected);
    }
  });

  it("decides by scopes where the server only authenticates", async () => {
    const server = serverWith({ "GET /a": [] }, { "GET /a": ["a:read"] }, { authorization: false });
    expect(resultsOf(await ask(server, "/a"))).toEqual(["allowed", "scope_insufficient"]);
    expect(resultsOf(await ask(server, "/b"))).toEqual(["allowed", "route_unmapped"]);
  });

  it("refuses a spelling that only its own table can't read", async () => {
    const server = serverWith({ "* /{*path}": [] }, { "GET /a": ["a:read"] });
    expect(resultsOf(await ask(server, "/A", "a:read"))).toEqual(["allowed", "request_ambiguous"]);
  });

  describe("about a handler that receives another parameter than the rules of a table read", () => {
    const table: ScopeMappings = { "GET /a/:id": ["a:<id>:read"] };
    const decide = async (server: ResourceServer): Promise<Decision> =>
      server.check({
        ...{ method: "GET", target: "/a/7", matchedPattern: "/a/:id", params: { id: "8" } },
        authorization: await CREDENTIALS["a:read"]?.(),
      });

    it("refuses as ambiguous, as the second table will", async () => {
      expect(resultOf(await decide(createServer({ scopeMappings: table })))).toBe("request_ambiguous");
      expect(resultsOf(await decide(serverWith({ "GET /a/:id": [] }, table)))).toEqual([
        "allowed",
        "request_ambiguous",
      ]);
    });

    it("is absent if the tables are the same", async () => {
      expect(resultsOf(await decide(serverWith(table, table)))).toEqual(["request_ambiguous", undefined]);
    });
  });
});

describe("a question without a request", () => {
  const server = serverWith({ "GET /a": [], "GET /b": "public" }, { "GET /a": ["a:read"], "GET /b": [] });

  it("is compared by authorize", async () => {
    const [unscoped, reader] = [await tokenWith(), await tokenWith("a:read")];
    const authorize = async (token: string, path: string) =>
      resultsOf(server.authorize(await server.authenticate(token), "GET", path));
    expect(await authorize(unscoped, "/a")).toEqual(["allowed", "scope_insufficient"]);
    expect(await authorize(reader, "/a")).toEqual(["allowed", undefined]);
    expect(await authorize(reader, "/b")).toEqual(["allowed", undefined]);
    expect(await authorize(reader, "/c")).toEqual(["route_unmapped", undefined]);
  });

  it("is explained with a row for the shadow, where it differs", () => {
    const rowOf = (path: string, scopes?: readonly string[]) =>
      explain(server, { method: "GET", path, ...(scopes && { scopes }) })
        .text.split("\n")
        .filter((line) => line.startsWith("  shadow "));
    expect(rowOf("/a", [])).toEqual(["  shadow     refused: scope_insufficient; rule `GET /a`"]);
    expect(rowOf("/a", ["a:read"])).toEqual([]);
    expect(rowOf("/a")).toEqual([]);
    expect(rowOf("/b")).toEqual(["  shadow     undecided"]);
  });
});

describe("the second table", () => {
  it("has the base table of the server, unless it has its own", async () => {
    const options = { defaultScopeMappings: { "GET /base": [] } };
    const base = serverWith({}, {}, options);
    expect(resultsOf(await ask(base, "/base"))).toEqual(["allowed", undefined]);
    const replaced = serverWith({}, { "GET /base": ["a:read"] }, options);
    expect(resultsOf(await ask(replaced, "/base"))).toEqual(["allowed", "scope_insufficient"]);
    const own = { scopeMappings: {}, defaultScopeMappings: { "GET /own": "public" } } as const;
    const separate = createServer({ ...options, scopeMappings: {}, shadow: shadowTable(own) });
    expect(resultsOf(await ask(separate, "/base"))).toEqual(["allowed", "route_unmapped"]);
    expect(resultsOf(await ask(separate, "/own"))).toEqual(["route_unmapped", "allowed"]);
  });

  it("handles routes without a rule as the server does, unless it has its own option", async () => {
    const open = { unmappedRoutes: "authenticated" } as const;
    expect(resultsOf(await ask(serverWith({}, {}, open), "/a"))).toEqual(["allowed", undefined]);
    const decide = (unmappedRoutes: "authenticated" | "deny", options: Options) => {
      const shadow = shadowTable({ scopeMappings: {}, unmappedRoutes });
      return ask(createServer({ scopeMappings: { "GET /b": "public" }, ...options, shadow }), "/a");
    };
    expect(resultsOf(await decide("deny", open))).toEqual(["allowed", "route_unmapped"]);
    // The caller isn't known: no credential was read for a route without a rule.
    expect(resultsOf(await decide("authenticated", {}))).toEqual(["route_unmapped", "undecided"]);
  });

  it("changes nothing in the table of the server", () => {
    const { routes } = serverWith({ "GET /a": [] }, { "GET /a": ["a:read"], "GET /b": [] });
    expect(routes.map(({ key, requirement }) => [key, requirement])).toEqual([["GET /a", []]]);
    expect(warn).not.toHaveBeenCalled();
  });

  it("may be used by several servers", async () => {
    const shadow = shadowTable({ scopeMappings: { "GET /a": ["a:read"] } });
    for (const entry of [[], "optional"] as const) {
      const server = createServer({ scopeMappings: { "GET /a": entry }, shadow });
      expect(resultsOf(await ask(server, "/a"))).toEqual(["allowed", "scope_insufficient"]);
    }
  });

  it("may be plain data in scopegate/complete", async () => {
    const shadow = { scopeMappings: { "GET /a": ["a:read"] } };
    const server = createServer({ scopeMappings: { "GET /a": [] }, shadow });
    expect(resultsOf(await ask(server, "/a"))).toEqual(["allowed", "scope_insufficient"]);
  });
});

describe("mistakes in the second table", () => {
  it.each<readonly [ScopeMappings, code: string, place: readonly (string | number)[]]>([
    [{ "get /a": [] } as ScopeMappings, "route_key_invalid", ["get /a"]],
    [{ "GET /:x": [], "GET /:y": [] }, "route_duplicate", ["GET /:x"]],
    [{ "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] }, "rules_cross", ["GET /:a/x"]],
    [{ "GET /a": ["a:<id>:read"] }, "scope_invalid", ["GET /a", 0]],
    [{ "* /base": [] }, "override_partial", ["* /base"]],
    [{ "GET /base": [] }, "condition_conflict", ["GET /base"]],
  ])("are found at startup, with their place: %j", (scopeMappings, code, place) => {
    const defaultScopeMappings: ScopeMappings = { "GET /base": { scopes: [], actors: "none" } };
    expect(mistakesOf(() => serverWith({}, scopeMappings, { defaultScopeMappings }))).toEqual([
      [code, "shadow", "scopeMappings", ...place],
    ]);
  });

  it("are found in its base table, too, and next to those in the first table", () => {
    const scopeMappings = { "get /b": [] };
    const shadow = { scopeMappings: {}, defaultScopeMappings: { "get /a": [] } };
    expect(mistakesOf(() => createServer({ scopeMappings, shadow: shadowTable(shadow) }))).toEqual([
      ["route_key_invalid", "scopeMappings", "get /b"],
      ["route_key_invalid", "shadow", "defaultScopeMappings", "get /a"],
    ]);
  });

  it("are found in scopes that `knownScopes` doesn't name", () => {
    const create = () => serverWith({}, { "GET /a": ["a:read"] }, { knownScopes: ["b:read"] });
    expect(mistakesOf(create)).toEqual([["scope_unknown", "shadow", "scopeMappings", "GET /a"]]);
  });

  it.each<readonly [object, readonly string[]]>([
    [{}, ["scopeMappings"]],
    [{ scopeMappings: { "GET /a": "Public" } }, ["scopeMappings", "GET /a"]],
    [{ scopeMappings: {}, defaultScopeMappings: undefined }, ["defaultScopeMappings"]],
    [{ scopeMappings: {}, unmappedRoutes: "allow" }, ["unmappedRoutes"]],
    [{ scopeMappings: {}, unmapped: "deny" }, ["unmapped"]],
  ])("are found in the options %j", (options, path) => {
    const create = () => createServer({ shadow: shadowTable(options as never) });
    expect(thrownBy(create).issues.map((issue) => issue.path)).toEqual([["shadow", ...path]]);
  });

  it.each([{ scopeMappings: {} }, { ...shadowTable({ scopeMappings: {} }) }, shadowTable, true])(
    "include anything but a value of shadowTable, with a hint that names the import: %j",
    (shadow) => {
      const create = () =>
        createPlain({ serviceId: "a", verificationKeys: [issuer.publicPem], shadow: shadow as never });
      expect(thrownBy(create).issues).toMatchObject([
        {
          code: "option_invalid",
          path: ["shadow"],
          hint: "Write shadowTable({ scopeMappings }), imported from scopegate/shadow.",
        },
      ]);
    },
  );
});

describe("a shadow", () => {
  it("is reported to onDecision, once with each decision", async () => {
    const { server, decisions } = createObserved({ "GET /a": [] }, { "GET /a": ["a:read"] });
    for (const credential of ["unscoped", "a:read", "forged", "none"]) await ask(server, "/a", credential);
    expect(decisions().map(resultsOf)).toEqual([
      ["allowed", "scope_insufficient"],
      ["allowed", undefined],
      ["token_rejected", "undecided"],
      ["credential_missing", undefined],
    ]);
  });

  it("is never passed to refusalBody, and changes no response", async () => {
    const refusalBody = vi.fn<NonNullable<ResourceServerOptions["refusalBody"]>>((problem) => ({
      contentType: "application/json",
      body: problem,
    }));
    const table: ScopeMappings = { "GET /a": ["a:read"] };
    const [plain, shadowed] = [
      createServer({ scopeMappings: table, refusalBody }),
      serverWith(table, { "GET /a": ["b:read", "c:read"], "* /{*path}": "public" }, { refusalBody }),
    ];
    for (const [target, credential] of [
      ["/a", "forged"],
      ["/a", "unscoped"],
      ["/b", "none"],
    ] as const) {
      const [first, second] = [await ask(plain, target, credential), await ask(shadowed, target, credential)];
      expect(second.allowed).toBe(false);
      expect(shadowed.refuse(second as never)).toEqual(plain.refuse(first as never));
    }
    expect(refusalBody).toHaveBeenCalledTimes(6);
    for (const [problem, refused] of refusalBody.mock.calls) {
      expect(problem).not.toHaveProperty("shadow");
      expect(refused).not.toHaveProperty("shadow");
    }
  });

  it("reads no credential, and asks no store", async () => {
    const [isRevoked, grants] = [vi.fn(() => false), vi.fn(() => Promise.resolve(["a:read"]))];
    const server = serverWith(
      { "GET /open": "public", "GET /a": [] },
      { "GET /open": ["a:read"], "GET /a": ["a:read"], "GET /unmapped": ["a:read"] },
      { isRevoked, grants },
    );
    for (const target of ["/open", "/unmapped"])
      expect(resultOf((await ask(server, target)).shadow)).toBe("undecided");
    expect([isRevoked, grants].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    expect(resultsOf(await ask(server, "/a"))).toEqual(["allowed", undefined]);
    expect([isRevoked, grants].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });

  it("changes nothing by a fault, which is a process warning once", async () => {
    const { server, decisions } = createObserved({ "GET /a": [] }, { "GET /a": ["a:read"] });
    const policy = pipelineOf(server).rules.shadow?.policy;
    if (policy)
      vi.spyOn(policy, "decideKnown").mockImplementation(() => {
        throw new Error("fault");
      });
    for (const credential of ["unscoped", "a:read"])
      expect(resultsOf(await ask(server, "/a", credential))).toEqual(["allowed", "undecided"]);
    expect(explain(server, { method: "GET", path: "/a", scopes: [] }).decision.allowed).toBe(true);
    expect(decisions()).toHaveLength(2);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      "the table of `shadow` couldn't be asked: fault",
      "ScopegateWarning",
    );
  });
});

describe("a route with the same rule of the first table", () => {
  it("is not decided again by the first table, whose conditions may read the clock", async () => {
    let now = NOW;
    const rule = { scopes: [], maxAuthAgeSeconds: 60 };
    const server = serverWith(
      { "* /{*path}": rule },
      { "GET /:page": ["pages:read"], "GET /billing": [] },
      {
        now: () => now * 1_000,
      },
    );
    const token = await issuer.token({ sub: "u1", scopes: [], auth_time: NOW });
    const asked = { method: "GET", target: "/billing" };
    const pipeline = pipelineOf(server);
    const verdict = await pipeline.decide({ ...asked, authorization: `Bearer ${token}` }, true);
    expect(resultsOf(verdict.decision())).toEqual(["allowed", undefined]);
    now += 61;
    const atRoute = await pipeline.decideRoute(verdict, { ...asked, patterns: ["/:page"] });
    expect(resultsOf(atRoute.decision())).toEqual(["allowed", "scope_insufficient"]);
  });
});

describe.each(EXPRESS_VERSIONS)("a route that runs in %s", (_, framework) => {
  const shadow: ScopeMappings = { "GET /:page": ["pages:read"], "GET /billing": ["billing:read"] };

  /** The path is that of `/billing`, and the route that runs is `/:page`. */
  async function run(enforced: ScopeMappings, scope = "billing:read") {
    const { server, decisions } = createObserved(enforced, shadow);
    const app = framework().use(protect(server));
    app.get("/:page", (_request, response) => response.json("page"));
    const status = await statusWith(await serve(app), "/billing", [scope]);
    return { status, shadows: decisions().map((decision) => resultOf(decision.shadow)) };
  }

  it("is decided by both tables", async () => {
    const { status, shadows } = await run({ "GET /:page": [], "GET /billing": [] });
    expect(status).toBe(200);
    expect(shadows).toEqual([undefined, "scope_insufficient"]);
  });

  it("must also satisfy the second table's rule for the path", async () => {
    const { status, shadows } = await run({ "GET /:page": [], "GET /billing": [] }, "pages:read");
    expect(status).toBe(200);
    expect(shadows).toEqual(["scope_insufficient", "scope_insufficient"]);
  });

  it("is decided by the second table if the first one has the same rule for the path and the route", async () => {
    const { status, shadows } = await run({ "* /{*path}": [] });
    expect(status).toBe(200);
    expect(shadows).toContain("scope_insufficient");
  });
});

describe("operations of MCP", () => {
  async function call(enforced: ScopeMappings, shadow: ScopeMappings, options: Options = {}) {
    const { server, decisions } = createObserved(enforced, shadow, options);
    const access = await protectMcp(server)(
      new Request("https://api.example/mcp", {
        method: "POST",
        headers: {
          authorization: (await CREDENTIALS["a:read"]?.()) ?? "",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "search", arguments: { team: "blue" } },
        }),
      }),
    );
    return { isAllowed: !(access instanceof Response), decisions: decisions() };
  }

  it("are decided by both tables, with their arguments", async () => {
    const enforced: ScopeMappings = { "POST /mcp": [], "MCP tools/call search": [] };
    const refusing = await call(enforced, { ...enforced, "MCP tools/call search": ["docs:<team>:read"] });
    expect(refusing.isAllowed).toBe(true);
    expect(refusing.decisions.map(resultsOf)).toEqual([
      ["allowed", undefined],
      ["allowed", "scope_insufficient"],
    ]);
    expect(refusing.decisions[1]?.shadow).toMatchObject({ missing: ["docs:blue:read"] });
    const same = await call(enforced, { ...enforced, "MCP tools/call search": ["a:<team>:read"] });
    expect(same.decisions.map(resultsOf)).toEqual([
      ["allowed", undefined],
      ["allowed", undefined],
    ]);
  });

  it("stay refused if only the second table allows them", async () => {
    const { isAllowed, decisions } = await call(
      { "POST /mcp": [], "MCP tools/call search": ["docs:read"] },
      { "POST /mcp": [], "MCP tools/call *": [] },
    );
    expect(isAllowed).toBe(false);
    expect(decisions.map(resultsOf)).toEqual([
      ["allowed", undefined],
      ["scope_insufficient", "allowed"],
    ]);
  });

  it("are decided by a second table that is the first one with rules for operations", async () => {
    const options = { unmappedRoutes: "authenticated" } as const;
    const shadow: ScopeMappings = { "POST /mcp": [], "MCP tools/call search": ["docs:read"] };
    const { isAllowed, decisions } = await call({ "POST /mcp": [] }, shadow, options);
    expect(isAllowed).toBe(true);
    expect(decisions.map(resultsOf)).toContainEqual(["allowed", "scope_insufficient"]);
  });
});

describe("a batch of tRPC", () => {
  const enforced: ScopeMappings = { "GET /trpc/:procedure": [] };
  const shadow: ScopeMappings = { "GET /trpc/:procedure": [], "GET /trpc/secret": ["secret:use"] };

  it("is decided by the second table for each procedure in its path", async () => {
    const server = serverWith(enforced, shadow);
    expect(resultsOf(await ask(server, "/trpc/list,secret?batch=1"))).toEqual([
      "allowed",
      "scope_insufficient",
    ]);
    expect(resultsOf(await ask(server, "/trpc/list,open?batch=1"))).toEqual(["allowed", undefined]);
  });

  it("is decided by the second table for each procedure that tRPC runs", async () => {
    const { server, decisions } = createObserved({ ...enforced, "GET /trpc/secret": [] }, shadow);
    const createContext = trpc.protect(server, { prefix: "/trpc" });
    const { port, close } = await listenBehindNode(server, (req, res) => {
      const info = { calls: [{ path: "secret" }] };
      void Promise.resolve(createContext({ req, res, info })).then(() => res.end("ok"));
    });
    const status = await statusWith(port, "/trpc/list", ["a:read"]);
    await close();
    expect(status).toBe(200);
    expect(decisions().map(resultsOf)).toEqual([
      ["allowed", undefined],
      ["allowed", "scope_insufficient"],
    ]);
  });
});
