/** Tables, callers and requests with the decision for each: by hand, from the rules of docs/understand/table.md. */
import { pageOf } from "../documentation/markdown.ts";
import { tablesOf, toConfiguration } from "../documentation/tables.ts";
import type { Corpora, DecisionCase } from "./format.ts";

type Table = Corpora["decisions"]["tables"][number];

/** `null` sends no token. A string is the scopes of the token. */
type Caller = null | string | Readonly<Record<string, unknown>>;

const STATUS: Readonly<Record<string, number>> = {
  request_ambiguous: 400,
  credential_missing: 401,
  authentication_insufficient: 401,
  scope_insufficient: 403,
  caller_not_allowed: 403,
  route_unmapped: 403,
};

const words = (text: string): string[] => text.split(" ").filter((word) => word !== "");

const claimsOf = (caller: Caller): DecisionCase["claims"] =>
  typeof caller === "string" ? { scopes: words(caller) } : caller && { scopes: [], ...caller };

/** `METHOD /target`, and after `->` the pattern of the route that runs. */
function readRequest(text: string): Pick<DecisionCase, "method" | "target" | "matched_pattern"> {
  const [request = "", matched_pattern] = text.split(" -> ");
  const [method = "", ...target] = request.split(" ");
  return { method, target: target.join(" "), ...(matched_pattern !== undefined && { matched_pattern }) };
}

/** An allowed request, the rule that decides, and the scopes that it requires. */
const allow = (request: string, caller: Caller, rule: string | null, required = ""): DecisionCase => ({
  ...readRequest(request),
  claims: claimsOf(caller),
  allowed: true,
  rule,
  required: words(required),
  missing: [],
});

/** A request that is refused for another reason than its scopes. */
const refuse = (reason: string, request: string, caller: Caller, rule?: string | null): DecisionCase => ({
  ...readRequest(request),
  claims: claimsOf(caller),
  allowed: false,
  reason,
  status: STATUS[reason] ?? Number.NaN,
  ...(rule !== undefined && { rule }),
});

/** A request that is refused because scopes are missing: all that the rule requires, unless others are named. */
const lacks = (
  request: string,
  caller: Caller,
  rule: string,
  required: string,
  missing = required,
): DecisionCase => ({
  ...refuse("scope_insufficient", request, caller, rule),
  required: words(required),
  missing: words(missing),
});

const anonymous = (request: string, rule: string): DecisionCase =>
  refuse("credential_missing", request, null, rule);
const unmapped = (request: string, caller: Caller): DecisionCase =>
  refuse("route_unmapped", request, caller, null);
const ambiguous = (request: string, caller: Caller): DecisionCase =>
  refuse("request_ambiguous", request, caller);

/** Which granted scope covers `agents:read`, and which covers `agents:web:read`. */
const COVERS: readonly (readonly [granted: string, all: boolean, web: boolean])[] = [
  ["agents:read", true, true],
  ["agents:*:read", true, true],
  ["agents:web:read", false, true],
  ["platform:admin", true, true],
  ["agents:api:read", false, false],
  ["agents:read:web", false, false],
  ["agents::read", false, false],
  ["Agents:read", false, false],
  ["agents", false, false],
  ["*", false, false],
  ["*:read", false, false],
  ["agents:*", false, false],
  ["agents:*:*", false, false],
  ["agents:w*:read", false, false],
  ["agents:Read", false, false],
  ["agents:WEB:read", false, false],
  ["Platform:Admin", false, false],
  ["agent:read", false, false],
  ["agents:read:", false, false],
  ["agents:web:read:x", false, false],
  ["agents:run", false, false],
  ["agents:web:run", false, false],
  ["teams:read", false, false],
  ["platform:*:admin", false, false],
];

const coverage: Table = {
  name: "which scope covers which",
  configuration: {
    admin_scope: "platform:admin",
    scope_mappings: { "GET /all": ["agents:read"], "GET /one/:id": ["agents:<id>:read"] },
  },
  cases: COVERS.flatMap(([granted, all, web]) => [
    all
      ? allow("GET /all", granted, "GET /all", "agents:read")
      : lacks("GET /all", granted, "GET /all", "agents:read"),
    web
      ? allow("GET /one/web", granted, "GET /one/:id", "agents:web:read")
      : lacks("GET /one/web", granted, "GET /one/:id", "agents:web:read"),
  ]),
};

/** Each route of the agent service with its rule, and what the rule requires of this request. */
const AGENT_ROUTES: readonly (readonly [request: string, rule: string, required: string])[] = [
  ["GET /agents/web", "GET /agents/:agent_id", "agents:web:read"],
  ["POST /agents/web/runs", "POST /agents/:agent_id/runs", "agents:web:run"],
  ["GET /teams/red", "GET /teams/:team_id", "teams:red:read"],
  ["POST /teams/red/runs", "POST /teams/:team_id/runs", "teams:red:run"],
  ["GET /sessions", "GET /sessions", "sessions:read"],
  ["GET /sessions/7", "GET /sessions/:session_id", "sessions:read"],
  ["POST /sessions", "POST /sessions", "sessions:write"],
  ["PATCH /sessions/7", "PATCH /sessions/:session_id", "sessions:write"],
  ["DELETE /sessions/7", "DELETE /sessions/:session_id", "sessions:write"],
  ["GET /knowledge/config", "GET /knowledge/config", "knowledge:read"],
];

const agents: Table = {
  name: "the table of an agent service",
  configuration: {
    admin_scope: "platform:admin",
    scope_mappings: {
      "GET /agents": ["agents:<any>:read"],
      "GET /agents/:agent_id": ["agents:<agent_id>:read"],
      "POST /agents/:agent_id/runs": ["agents:<agent_id>:run"],
      "GET /teams": ["teams:<any>:read"],
      "GET /teams/:team_id": ["teams:<team_id>:read"],
      "POST /teams/:team_id/runs": ["teams:<team_id>:run"],
      "GET /sessions": ["sessions:read"],
      "GET /sessions/:session_id": ["sessions:read"],
      "POST /sessions": ["sessions:write"],
      "PATCH /sessions/:session_id": ["sessions:write"],
      "DELETE /sessions/:session_id": ["sessions:write"],
      "GET /knowledge/config": ["knowledge:read"],
    },
  },
  cases: [
    ...AGENT_ROUTES.flatMap(([request, rule, required]) => [
      allow(request, required, rule, required),
      allow(request, "platform:admin", rule, required),
      lacks(request, "", rule, required),
      lacks(request, "other:read", rule, required),
      anonymous(request, rule),
    ]),
    allow("GET /agents/web?limit=5", "agents:web:read", "GET /agents/:agent_id", "agents:web:read"),
    allow("HEAD /agents/web", "agents:web:read", "GET /agents/:agent_id", "agents:web:read"),
    lacks("GET /agents/api", "agents:web:read", "GET /agents/:agent_id", "agents:api:read"),
    lacks("POST /agents/web/runs", "agents:web:read", "POST /agents/:agent_id/runs", "agents:web:run"),
    unmapped("GET /other", "platform:admin"),
    unmapped("GET /other", null),
    unmapped("DELETE /agents/web", "platform:admin"),
    unmapped("GET /agents/web/runs", "platform:admin"),
    unmapped("GET /agents/web/runs/1", "platform:admin"),
    unmapped("OPTIONS /agents", null),
    unmapped("FOO /agents", "platform:admin"),
    unmapped("get /agents", "platform:admin"),
    ambiguous("GET /agents//web", "platform:admin"),
    ambiguous("GET /agents/../sessions", "platform:admin"),
    ambiguous("GET /agents/%2e%2e/sessions", "platform:admin"),
    ambiguous("GET /agents/a%2fb", "platform:admin"),
    ambiguous("GET /agents/web;v=1", "platform:admin"),
    ambiguous("GET /AGENTS", "platform:admin"),
    ambiguous("GET /agents/", "platform:admin"),
    ambiguous("GET /%61gents", "platform:admin"),
  ],
};

const values: Table = {
  name: "the values of rules",
  configuration: {
    admin_scope: "platform:admin",
    scope_mappings: {
      "GET /public": "public",
      "GET /optional": "optional",
      "GET /token": [],
      "GET /one": ["a:read"],
      "GET /both": ["a:read", "b:read"],
      "GET /any": { any_of: ["a:read", "b:read"] },
      "GET /list": ["a:<any>:read"],
      "GET /opaque": ["openid"],
    },
  },
  cases: [
    allow("GET /public", null, "GET /public"),
    allow("GET /public", "", "GET /public"),
    allow("GET /optional", null, "GET /optional"),
    allow("GET /optional", "", "GET /optional"),
    anonymous("GET /token", "GET /token"),
    allow("GET /token", "", "GET /token"),
    anonymous("GET /one", "GET /one"),
    allow("GET /one", "a:read b:read", "GET /one", "a:read"),
    allow("GET /both", "b:read a:read", "GET /both", "a:read b:read"),
    lacks("GET /both", "a:read", "GET /both", "a:read b:read", "b:read"),
    lacks("GET /both", "b:read", "GET /both", "a:read b:read", "a:read"),
    lacks("GET /both", "", "GET /both", "a:read b:read"),
    allow("GET /any", "a:read", "GET /any", "a:read b:read"),
    allow("GET /any", "b:read", "GET /any", "a:read b:read"),
    allow("GET /any", "a:read b:read", "GET /any", "a:read b:read"),
    lacks("GET /any", "c:read", "GET /any", "a:read b:read"),
    anonymous("GET /any", "GET /any"),
    allow("GET /list", "a:read", "GET /list", "a:read"),
    allow("GET /list", "a:*:read", "GET /list", "a:read"),
    allow("GET /list", "a:7:read", "GET /list", "a:read"),
    lacks("GET /list", "a:7:write", "GET /list", "a:read"),
    lacks("GET /list", "b:7:read", "GET /list", "a:read"),
    anonymous("GET /list", "GET /list"),
    allow("GET /opaque", "openid", "GET /opaque", "openid"),
    allow("GET /opaque", "platform:admin", "GET /opaque", "openid"),
    lacks("GET /opaque", "OpenID", "GET /opaque", "openid"),
  ],
};

const narrowest: Table = {
  name: "the narrowest path decides, then the method",
  configuration: {
    scope_mappings: {
      "* /{*path}": ["all:use"],
      "GET /docs{/*path}": "public",
      "* /docs{/*path}": ["docs:write"],
      "GET /agents/:id": ["agents:<id>:read"],
      "* /agents/:id": ["agents:<id>:write"],
      "GET /agents/me": [],
      "GET /agents/:id/runs/:run": ["agents:<id>:read", "runs:<run>:read"],
      "GET /files/*path": ["files:read"],
      "GET /files/:name": ["files:<name>:read"],
      "GET /files/index": "public",
      "GET /pages{/}": ["pages:read"],
      "GET /pages/:page": ["pages:read"],
    },
  },
  cases: [
    lacks("GET /", "", "* /{*path}", "all:use"),
    allow("GET /", "all:use", "* /{*path}", "all:use"),
    allow("DELETE /a/b/c", "all:use", "* /{*path}", "all:use"),
    allow("GET /docs", null, "GET /docs{/*path}"),
    allow("GET /docs/a/b", null, "GET /docs{/*path}"),
    allow("HEAD /docs/a", null, "GET /docs{/*path}"),
    lacks("PUT /docs/a", "all:use", "* /docs{/*path}", "docs:write"),
    lacks("OPTIONS /docs/a", "all:use", "* /docs{/*path}", "docs:write"),
    allow("PUT /docs/a", "docs:write", "* /docs{/*path}", "docs:write"),
    lacks("GET /docsy", "", "* /{*path}", "all:use"),
    allow("GET /agents/web", "agents:web:read", "GET /agents/:id", "agents:web:read"),
    lacks("GET /agents/web", "all:use", "GET /agents/:id", "agents:web:read"),
    lacks("DELETE /agents/web", "agents:web:read", "* /agents/:id", "agents:web:write"),
    allow("DELETE /agents/web", "agents:web:write", "* /agents/:id", "agents:web:write"),
    allow("GET /agents/me", "", "GET /agents/me"),
    allow("HEAD /agents/me", "", "GET /agents/me"),
    anonymous("GET /agents/me", "GET /agents/me"),
    lacks("GET /agents/mee", "", "GET /agents/:id", "agents:mee:read"),
    lacks(
      "GET /agents/web/runs/7",
      "agents:web:read",
      "GET /agents/:id/runs/:run",
      "agents:web:read runs:7:read",
      "runs:7:read",
    ),
    allow(
      "GET /agents/web/runs/7",
      "agents:read runs:read",
      "GET /agents/:id/runs/:run",
      "agents:web:read runs:7:read",
    ),
    lacks("GET /agents/web/runs", "agents:read", "* /{*path}", "all:use"),
    allow("GET /files/index", null, "GET /files/index"),
    allow("GET /files/a", "files:a:read", "GET /files/:name", "files:a:read"),
    lacks("GET /files/a/b", "files:a:read", "GET /files/*path", "files:read"),
    allow("GET /files/a/b", "files:read", "GET /files/*path", "files:read"),
    lacks("GET /files", "files:read", "* /{*path}", "all:use"),
    allow("GET /pages", "pages:read", "GET /pages{/}", "pages:read"),
    allow("GET /pages/7", "pages:read", "GET /pages/:page", "pages:read"),
    lacks("GET /pages/7/8", "pages:read", "* /{*path}", "all:use"),
  ],
};

const matched: Table = {
  name: "the route that runs",
  configuration: {
    admin_scope: "platform:admin",
    scope_mappings: {
      "GET /agents/:id": ["agents:<id>:read"],
      "GET /agents/me": [],
      "GET /Reports": ["reports:read"],
      "GET /status": "public",
    },
  },
  cases: [
    allow("GET /agents/me -> /agents/me", "", "GET /agents/me"),
    allow("GET /agents/web -> /agents/:name", "agents:web:read", "GET /agents/:id", "agents:web:read"),
    // The route is wider than the path: its rule must be satisfied too.
    refuse("scope_insufficient", "GET /agents/me -> /agents/:id", ""),
    allow("GET /agents/me -> /agents/:id", "agents:me:read", "GET /agents/me", "agents:me:read"),
    // A path in another spelling than in the table.
    allow("GET /agents/web/ -> /agents/:id", "agents:web:read", "GET /agents/:id", "agents:web:read"),
    ambiguous("GET /agents/web/", "agents:web:read"),
    ambiguous("GET /STATUS -> /status", null),
    // A slash at the end makes no other route of a public page.
    allow("GET /status/ -> /status", null, "GET /status"),
    ambiguous("GET /status/", null),
    allow("GET /status -> /status", null, "GET /status"),
    allow("GET /reports -> /Reports", "reports:read", "GET /Reports", "reports:read"),
    ambiguous("GET /reports", "reports:read"),
    // No rule covers the whole route, so the path decides alone.
    allow("GET /agents/web -> /:kind/:id", "agents:web:read", "GET /agents/:id", "agents:web:read"),
    // The path does not fit the route.
    ambiguous("GET /agents/web -> /agents/me", "agents:web:read"),
    unmapped("GET /other -> /other", "platform:admin"),
  ],
};

const implied: Table = {
  name: "scopes that imply others, and an admin scope",
  configuration: {
    admin_scope: "root",
    implied_scopes: { "agents:write": ["agents:read"], "agents:read": ["agents:list"], owner: ["agents:write"] },
    scope_mappings: {
      "GET /list": ["agents:list"],
      "GET /all": ["agents:read"],
      "GET /one/:id": ["agents:<id>:read"],
    },
  },
  cases: [
    ...["agents:list", "agents:read", "agents:write", "owner", "root", "agents:*:write"].map((granted) =>
      allow("GET /list", granted, "GET /list", "agents:list"),
    ),
    ...["agents:web:write", "agents:run", "platform:admin", "Root", "*", "agents"].map((granted) =>
      lacks("GET /list", granted, "GET /list", "agents:list"),
    ),
    ...["agents:read", "agents:write", "owner", "root", "agents:*:write"].map((granted) =>
      allow("GET /all", granted, "GET /all", "agents:read"),
    ),
    ...["agents:list", "agents:web:write", "platform:admin", "Owner"].map((granted) =>
      lacks("GET /all", granted, "GET /all", "agents:read"),
    ),
    ...["agents:web:write", "agents:web:read", "agents:write", "owner", "root"].map((granted) =>
      allow("GET /one/web", granted, "GET /one/:id", "agents:web:read"),
    ),
    ...["agents:web:list", "agents:api:write", "agents::write", "teams:web:write"].map((granted) =>
      lacks("GET /one/web", granted, "GET /one/:id", "agents:web:read"),
    ),
  ],
};

const noAdmin: Table = {
  name: "no admin scope",
  configuration: { scope_mappings: { "GET /all": ["agents:read"] } },
  cases: [
    lacks("GET /all", "platform:admin", "GET /all", "agents:read"),
    allow("GET /all", "agents:read", "GET /all", "agents:read"),
  ],
};

const notFound: Table = {
  name: "routes without a rule are not found",
  configuration: {
    admin_scope: "platform:admin",
    unmapped_routes: "not_found",
    scope_mappings: { "GET /a": [] },
  },
  cases: [
    { ...unmapped("GET /b", null), status: 404 },
    { ...unmapped("GET /b", "platform:admin"), status: 404 },
    allow("GET /a", "", "GET /a"),
  ],
};

const authenticated: Table = {
  name: "routes without a rule need a token",
  configuration: { unmapped_routes: "authenticated", scope_mappings: { "GET /a": ["a:read"] } },
  cases: [
    allow("GET /b", "", null),
    refuse("credential_missing", "GET /b", null, null),
    lacks("GET /a", "", "GET /a", "a:read"),
  ],
};

const tenants: Table = {
  name: "conditions on the caller",
  configuration: {
    admin_scope: "platform:admin",
    scope_mappings: {
      "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "org_id" } }, unless: ["orgs:any"] },
      "GET /orgs/:org/reports": ["reports:read"],
      "GET /direct": { scopes: [], actors: "none" },
      "GET /agents": { scopes: [], actors: { any_of: ["agent-1"] } },
      "GET /partners": { scopes: [], clients: ["partner-1"] },
      "POST /payments": { scopes: ["payments:write"], acr: { any_of: ["urn:example:mfa"] } },
    },
  },
  cases: [
    allow("GET /orgs/acme", { org_id: "acme" }, "* /orgs/:org{/*path}"),
    allow("GET /orgs/acme/a/b", { org_id: "acme" }, "* /orgs/:org{/*path}"),
    allow("GET /orgs/acme", { org_id: ["other", "acme"] }, "* /orgs/:org{/*path}"),
    allow("GET /orgs/7", { org_id: 7 }, "* /orgs/:org{/*path}"),
    allow("GET /orgs/acme", { scopes: ["orgs:any"] }, "* /orgs/:org{/*path}"),
    anonymous("GET /orgs/acme", "* /orgs/:org{/*path}"),
    ...["other", "Acme", "acme ", "", null, true, {}, ["other"], [], 7.5].map((org_id) =>
      refuse("caller_not_allowed", "GET /orgs/acme", { org_id }),
    ),
    refuse("caller_not_allowed", "GET /orgs/acme", {}),
    refuse("caller_not_allowed", "GET /orgs/acme", { scopes: ["platform:admin"] }),
    // The condition of the prefix also holds for the narrower rule.
    allow(
      "GET /orgs/acme/reports",
      { org_id: "acme", scopes: ["reports:read"] },
      "GET /orgs/:org/reports",
      "reports:read",
    ),
    refuse("caller_not_allowed", "GET /orgs/acme/reports", { org_id: "other", scopes: ["reports:read"] }),
    refuse("scope_insufficient", "GET /orgs/acme/reports", { org_id: "other" }),
    allow("GET /direct", {}, "GET /direct"),
    refuse("caller_not_allowed", "GET /direct", { act: { sub: "agent-1" } }),
    allow("GET /agents", { act: { sub: "agent-1" } }, "GET /agents"),
    allow("GET /agents", { act: { sub: "agent-1", act: { sub: "agent-2" } } }, "GET /agents"),
    refuse("caller_not_allowed", "GET /agents", { act: { sub: "agent-2", act: { sub: "agent-1" } } }),
    refuse("caller_not_allowed", "GET /agents", {}),
    allow("GET /partners", { client_id: "partner-1" }, "GET /partners"),
    allow("GET /partners", { azp: "partner-1" }, "GET /partners"),
    refuse("caller_not_allowed", "GET /partners", { client_id: "partner-2" }),
    refuse("caller_not_allowed", "GET /partners", { client_id: "partner-1", azp: "partner-2" }),
    refuse("caller_not_allowed", "GET /partners", {}),
    ...["", "sub"].flatMap((user) => {
      const caller = { ...(user && { [user]: "user-1" }), scopes: ["payments:write"] };
      // A token without a user is of a program, which cannot sign in again.
      const reason = user ? "authentication_insufficient" : "caller_not_allowed";
      return [
        allow("POST /payments", { ...caller, acr: "urn:example:mfa" }, "POST /payments", "payments:write"),
        refuse(reason, "POST /payments", { ...caller, acr: "urn:example:pwd" }),
        refuse(reason, "POST /payments", { ...caller, acr: ["urn:example:mfa"] }),
        refuse(reason, "POST /payments", caller),
      ];
    }),
    refuse("scope_insufficient", "POST /payments", { acr: "urn:example:mfa" }),
  ],
};

const website: Table = {
  name: "a public website with a part for staff",
  configuration: {
    scope_mappings: {
      "GET /{*path}": "public",
      "* /admin{/*path}": ["admin:use"],
      "* /admin/login": "public",
      "DELETE /admin/users{/*path}": ["admin:use", "users:delete"],
    },
  },
  cases: [
    allow("GET /about", null, "GET /{*path}"),
    unmapped("POST /about", null),
    allow("GET /administrators", null, "GET /{*path}"),
    anonymous("GET /admin", "* /admin{/*path}"),
    allow("POST /admin/login", null, "* /admin/login"),
    allow("GET /admin/users/7", "admin:use", "* /admin{/*path}", "admin:use"),
    lacks(
      "DELETE /admin/users/7",
      "admin:use",
      "DELETE /admin/users{/*path}",
      "admin:use users:delete",
      "users:delete",
    ),
  ],
};

const upgraded = (row: DecisionCase): DecisionCase => ({ ...row, upgrade: true });

const sockets: Table = {
  name: "WebSockets: a public rule with a wildcard does not open them",
  configuration: {
    scope_mappings: {
      "GET /{*path}": "public",
      "GET /live{/*path}": ["live:read"],
      "GET /rooms/:room{/*path}": ["rooms:<room>:join"],
      "GET /news/socket": "public",
    },
  },
  cases: [
    allow("GET /about", null, "GET /{*path}"),
    upgraded(refuse("route_unmapped", "GET /about", null)),
    upgraded(allow("GET /news/socket", null, "GET /news/socket")),
    upgraded(anonymous("GET /live", "GET /live{/*path}")),
    upgraded(
      allow("GET /rooms/red/socket", "rooms:red:join", "GET /rooms/:room{/*path}", "rooms:red:join"),
    ),
    upgraded(
      lacks("GET /rooms/blue/socket", "rooms:red:join", "GET /rooms/:room{/*path}", "rooms:blue:join"),
    ),
  ],
};

/** The tables of docs/understand/table.md with their requests, as the page shows them. */
const documented: readonly Table[] = tablesOf(pageOf("docs/understand/table.md")).map(
  ({ name, options, requests }) => {
    const cases = requests.flatMap(({ method, target, token, answer }): DecisionCase[] => {
      if (token === "expired") return [];
      const request = { method, target, claims: token === "none" ? null : { sub: "user-1", ...token } };
      if (answer === "allowed") return [{ ...request, allowed: true }];
      const reason = answer === "403 (no rule)" ? { reason: "route_unmapped" } : {};
      return [{ ...request, allowed: false, ...reason, status: Number.parseInt(answer, 10) }];
    });
    return { name: `the guide: ${name}`, configuration: toConfiguration(options), cases };
  },
);

/** `default_scope_mappings` keeps the base table out. */
const withoutBaseTable = ({ configuration, ...table }: Table): Table => ({
  ...table,
  configuration: { default_scope_mappings: {}, ...configuration },
});

const tables: readonly Table[] = [
  coverage,
  agents,
  values,
  narrowest,
  matched,
  implied,
  noAdmin,
  notFound,
  authenticated,
  tenants,
  website,
  sockets,
  ...documented,
];

export const DECISION_TABLES: readonly Table[] = tables.map(withoutBaseTable);
