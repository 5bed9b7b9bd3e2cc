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

  // Each of these would open something, or lock everybody out, without a word.
  it.each<[base: Table, change: Table, reported: string]>([
    [HOSPITAL, { "GET /v2/wards/:ward/beds": ["records:read"] }, "where_missing"],
    [HOSPITAL, { "GET /wards/mine/patients/:patient": ["records:read"] }, "where_fixed_text"],
    [HOSPITAL, { [WARDS]: { ...TENANTS, except: [`GET ${WARDS.slice(2)}`] } }, "exception_wide"],
    [HOSPITAL, { [WARDS]: { ...TENANTS, acr: { anyOf: ["urn:example:password"] } } }, "condition_conflict"],
    [BUILDS, { "GET /teams/:team/projects": ["teams:<any>:use"] }, "scope_unbound"],
    [BUILDS, { "GET /projects/:project/builds/:build.:format": ["logs:read"] }, "route_pattern_invalid"],
    [BUILDS, { "GET /v:version/projects": [] }, "route_pattern_invalid"],
    [
      BANK,
      { "POST /payments": { scopes: ["p:c"], maxAuthAgeSeconds: 9, unless: ["p:any"] } },
      "condition_invalid",
    ],
    [BANK, { "POST /accounts/:account/close": ["accounts:<customer>:close"] }, "scope_invalid"],
    [BANK, { "POST /transfers": ["accounts:<any>:transfer"] }, "scope_invalid"],
    [{ "* /{*path}": [] }, { "* /billing": ["billing:use"] }, "wider_rule_weaker"],
    [{ "GET /{*path}": "public" }, { "* /billing/*path": ["billing:use"] }, "wider_rule_weaker"],
    [{ "* /{*path}": [] }, { "GET /billing{/*path}": ["billing:use"] }, "wider_rule_weaker"],
    [ANALYTICS, { "GET /exports": ["workspaces:*:view"] }, "scope_invalid"],
    [ANALYTICS, { "GET /exports": ["exports:read, workspaces:view"] }, "scope_invalid"],
    [ANALYTICS, { "GET /workspaces/:workspace/members": ["workspaces:<any>:view"] }, "scope_unbound"],
    [DEVICES, { "DELETE /{*path}": ["devices:remove"] }, "rule_outranked"],
    [{ "GET /d/:d/status": ["d:<d>:read"] }, { "GET /d/gateway/:part": "public" }, "rules_cross"],
    [{ "GET /devices": ["devices:read"] }, { "HEAD /devices": "public" }, "rule_outranked"],
    [CONTENT, { "GET /exports": ["billing:invoices:export"] }, "scope_literal_id"],
    [CONTENT, { "GET /moderation/rules": "public" }, "exception_missing"],
  ])("%j reports for %j the mistake %s", (base, change, reported) => {
    expect(reportsOf({ ...base, ...change })).toEqual([reported]);
  });
});
