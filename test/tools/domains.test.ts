/** Correct tables of six services. Neither startup nor `scopegate lint` reports anything about them. */
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { pipelineOf } from "../../src/core/port.ts";
import { findInTable } from "../../src/tools/audit/table-findings.ts";
import { createServer } from "../support/resource-servers.ts";

/** Staff see the patients of their ward, doctors read those of all wards, and a prescription needs a badge. */
const HOSPITAL: ScopeMappings = {
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
const BUILDS: ScopeMappings = {
  "GET /projects": ["projects:<any>:use"],
  "* /projects/:project{/*path}": { scopes: [], also: ["projects:<project>:use"] },
  "GET /projects/:project/builds/:build.log": ["logs:read"],
  "POST /projects/:project/deployments": { scopes: ["deployments:create"], clients: ["runner"] },
};

/** Customers use their own accounts, agents never move money, and a transfer needs a recent login. */
const BANK: ScopeMappings = {
  "GET /accounts": ["accounts:<any>:read"],
  "GET /accounts/:account{/*path}": ["accounts:<account>:read"],
  "POST /accounts/:account/transfers": {
    scopes: ["accounts:<account>:read", "accounts:<account>:transfer"],
    actors: "none",
    maxAuthAgeSeconds: 300,
  },
};

/** Every user sees the dashboards of a workspace that is shared with them. Only billing staff see invoices. */
const ANALYTICS: ScopeMappings = {
  "GET /workspaces": ["workspaces:<any>:view"],
  "GET /workspaces/:workspace{/*path}": ["workspaces:<workspace>:view"],
  "* /workspaces/:workspace{/*path}": ["workspaces:<workspace>:view", "workspaces:<workspace>:edit"],
  "* /billing{/*path}": ["billing:use"],
};

/** A device writes only its own measurements, with a token that is bound to its certificate. */
const DEVICES: ScopeMappings = {
  "* /devices/:device{/*path}": { scopes: ["devices:<device>:manage"], where: { device: { claim: "sub" } } },
  "POST /devices/:device/measurements": ["devices:<device>:manage", "devices:<device>:write"],
  "POST /tasks/:task\\:cancel": ["tasks:<task>:cancel"],
};

/** Everyone reads. Authors create posts and edit their own, and moderators use a part of their own. */
const CONTENT: ScopeMappings = {
  "GET /posts{/*path}": "public",
  "POST /posts": ["posts:create"],
  "PUT /posts/:post": ["posts:<post>:edit"],
  "* /moderation{/*path}": { scopes: [], also: ["moderation:use"] },
  "POST /moderation/users/:user/ban": ["users:ban"],
};

describe("a table of a service", () => {
  it.each([
    ["a hospital", HOSPITAL],
    ["builds", BUILDS],
    ["a bank", BANK],
    ["analytics", ANALYTICS],
    ["devices", DEVICES],
    ["content", CONTENT],
  ])("starts without a warning: %s", (_, table) => {
    const findings = findInTable(pipelineOf(createServer({ scopeMappings: table })).policy.rules);
    expect(findings.filter(({ severity }) => severity !== "note")).toEqual([]);
  });
});
