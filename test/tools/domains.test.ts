/** Tables of six services. Startup or `scopegate lint` must report each mistake that their authors could make. */
import { describe, expect, it } from "vitest";
import { ConfigurationError, type ScopeMappings } from "scopegate";
import { pipelineOf } from "../../src/core/port.ts";
import { findInTable } from "../../src/tools/audit/table-findings.ts";
import { createServer } from "../support/resource-servers.ts";

type Table = Readonly<Record<string, unknown>>;

/** Returns the codes of the errors at startup, or else the kinds of what `scopegate lint` finds. */
function reportsOf(table: Table): readonly string[] {
  try {
    const server = createServer({ scopeMappings: table as ScopeMappings });
    const findings = findInTable(pipelineOf(server).policy.rules);
    return [...new Set(findings.filter(({ severity }) => severity !== "note").map(({ kind }) => kind))];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [...new Set(error.issues.map(({ code }) => code))];
  }
}

/** Staff see the patients of their ward, doctors read those of all wards, and a prescription needs a badge. */
const HOSPITAL: Table = {
  "GET /patients": ["patients:<any>:read"],
  "* /wards/:ward/patients/:patient{/*path}": {
    scopes: ["records:write"],
    where: { ward: { claim: "wards" } },
    unless: { scopes: ["wards:cross"], methods: ["GET"] },
  },
  "GET /wards/:ward/patients/:patient{/*path}": ["records:read"],
  "POST /wards/:ward/patients/:patient/prescriptions": {
    scopes: ["records:write", "prescriptions:create"],
    acr: { anyOf: ["urn:example:badge"] },
  },
};

/** Members of a project see its builds. Deployments also need a scope, and only the runner may deploy. */
const BUILDS: Table = {
  "GET /projects": ["projects:<any>:use"],
  "* /projects/:project{/*path}": { scopes: [], also: ["projects:<project>:use"] },
  "GET /projects/:project/builds/:build.log": ["logs:read"],
  "POST /projects/:project/deployments": { scopes: ["deployments:create"], clients: ["runner"] },
};

/** Customers use their own accounts, agents never move money, and a transfer needs a recent login. */
const BANK: Table = {
  "GET /accounts": ["accounts:<any>:read"],
  "GET /accounts/:account{/*path}": ["accounts:<account>:read"],
  "POST /accounts/:account/transfers": {
    scopes: ["accounts:<account>:read", "accounts:<account>:transfer"],
    actors: "none",
    maxAuthAgeSeconds: 300,
  },
};

/** Every user sees the dashboards of a workspace that is shared with them. Only billing staff see invoices. */
const ANALYTICS: Table = {
  "GET /workspaces": ["workspaces:<any>:view"],
  "GET /workspaces/:workspace{/*path}": ["workspaces:<workspace>:view"],
  "* /workspaces/:workspace{/*path}": ["workspaces:<workspace>:view", "workspaces:<workspace>:edit"],
  "* /billing{/*path}": ["billing:use"],
};

/** A device writes only its own measurements, with a token that is bound to its certificate. */
const DEVICES: Table = {
  "* /devices/:device{/*path}": { scopes: ["devices:<device>:manage"], where: { device: { claim: "sub" } } },
  "POST /devices/:device/measurements": ["devices:<device>:manage", "devices:<device>:write"],
  "POST /tasks/:task\\:cancel": ["tasks:<task>:cancel"],
};

/** Everyone reads. Authors create posts and edit their own, and moderators use a part of their own. */
const CONTENT: Table = {
  "GET /posts{/*path}": "public",
  "POST /posts": ["posts:create"],
  "PUT /posts/:post": ["posts:<post>:edit"],
  "* /moderation{/*path}": { scopes: [], also: ["moderation:use"] },
  "POST /moderation/users/:user/ban": ["users:ban"],
};

const TENANTS = HOSPITAL["* /wards/:ward/patients/:patient{/*path}"] as object;
const WARDS = "* /wards/:ward/patients/:patient{/*path}";

describe("a table of a service", () => {
  it.each([
    ["a hospital", HOSPITAL],
    ["builds", BUILDS],
    ["a bank", BANK],
    ["analytics", ANALYTICS],
    ["devices", DEVICES],
    ["content", CONTENT],
  ])("starts without a warning: %s", (_, table) => {
    expect(reportsOf(table)).toEqual([]);
  });

  it.each<[string, Table, string]>([
    // Each of these would open something, or lock everybody out, without a word.
    [
      "a second version without the ward",
      { ...HOSPITAL, "GET /v2/wards/:ward/beds": ["records:read"] },
      "where_missing",
    ],
    [
      "a text where a ward is compared",
      { ...HOSPITAL, "GET /wards/mine/patients/:patient": ["records:read"] },
      "where_fixed_text",
    ],
    [
      "an exception for a subtree",
      { ...HOSPITAL, [WARDS]: { ...TENANTS, except: ["GET /wards/:ward/patients/:patient{/*path}"] } },
      "exception_wide",
    ],
    [
      "a step-up that nobody can meet",
      { ...HOSPITAL, [WARDS]: { ...TENANTS, acr: { anyOf: ["urn:example:password"] } } },
      "condition_conflict",
    ],
    [
      "members of any project",
      { ...BUILDS, "GET /teams/:team/projects": ["teams:<any>:use"] },
      "scope_unbound",
    ],
    [
      "a file name as two parameters",
      { ...BUILDS, "GET /projects/:project/builds/:build.:format": ["logs:read"] },
      "route_pattern_invalid",
    ],
    ["a number after a text", { ...BUILDS, "GET /v:version/projects": [] }, "route_pattern_invalid"],
    [
      "`unless` for the step-up only",
      { ...BANK, "POST /payments": { scopes: ["p:create"], maxAuthAgeSeconds: 300, unless: ["p:any"] } },
      "condition_invalid",
    ],
    [
      "the parameter of another route",
      { ...BANK, "POST /accounts/:account/close": ["accounts:<customer>:close"] },
      "scope_invalid",
    ],
    [
      "one account is enough for a transfer",
      { ...BANK, "POST /transfers": ["accounts:<any>:transfer"] },
      "scope_invalid",
    ],
    ["what is below a page", { "* /{*path}": [], "* /billing": ["billing:use"] }, "wider_rule_weaker"],
    [
      "what is above a page",
      { "GET /{*path}": "public", "* /billing/*path": ["billing:use"] },
      "wider_rule_weaker",
    ],
    [
      "the other methods of a page",
      { "* /{*path}": [], "GET /billing{/*path}": ["billing:use"] },
      "wider_rule_weaker",
    ],
    [
      "a scope for every workspace in a rule",
      { ...ANALYTICS, "GET /exports": ["workspaces:*:view"] },
      "scope_invalid",
    ],
    [
      "two scopes in one string",
      { ...ANALYTICS, "GET /exports": ["exports:read, workspaces:view"] },
      "scope_invalid",
    ],
    [
      "a list below a workspace",
      { ...ANALYTICS, "GET /workspaces/:workspace/members": ["workspaces:<any>:view"] },
      "scope_unbound",
    ],
    ["a method for all paths", { ...DEVICES, "DELETE /{*path}": ["devices:remove"] }, "rule_outranked"],
    [
      "paths that cross",
      { "GET /devices/:device/status": ["devices:<device>:read"], "GET /devices/gateway/:part": "public" },
      "rules_cross",
    ],
    [
      "a HEAD rule that opens GET",
      { "GET /devices": ["devices:read"], "HEAD /devices": "public" },
      "rule_outranked",
    ],
    [
      "an id in a scope that isn't one",
      { ...CONTENT, "GET /exports": ["billing:invoices:export"] },
      "scope_literal_id",
    ],
    [
      "a public page below a condition",
      { ...CONTENT, "GET /moderation/rules": "public" },
      "exception_missing",
    ],
  ])("has a mistake that is reported: %s", (_, table, reported) => {
    expect(reportsOf(table)).toEqual([reported]);
  });
});
