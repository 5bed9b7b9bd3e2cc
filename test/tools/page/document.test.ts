/** The page as a file: nothing in it can run or be read that should not. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { audit } from "scopegate/audit";
import { page, type PageOptions } from "scopegate/page";
import { createServer, issuer } from "../../support/resource-servers.ts";
import { partsOf } from "./page-text.ts";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const HOSTILE = [
  "</script><script>alert(1)</script>",
  "<!--<script>",
  "<img src=x onerror=alert(1)>",
  "\u2028\u2029&amp;\"'`${1}{DATA}{SCRIPT}$&",
  "__proto__",
];

describe("page", () => {
  it("allows its own script and style, and nothing else", () => {
    const { csp, script, style } = partsOf(page(createServer()));
    expect(csp.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${hashOf(script)}`,
      `style-src ${hashOf(style)}`,
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    expect(script.length).toBeGreaterThan(10_000);
  });

  it("refers to nothing outside the file", () => {
    const html = page(createServer());
    expect(html.replace(partsOf(html).script, "")).not.toMatch(/\b(?:src|action|srcset|poster)=/);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual(["#rules"]);
    expect(html).not.toMatch(
      /@import|url\(|fetch\(|XMLHttpRequest|WebSocket|innerHTML|insertAdjacent|\beval\b/,
    );
  });

  it.each(HOSTILE)("keeps the text %j as data", (text) => {
    const scope = text.replaceAll(/[^!-~]|["\\:]/g, "") + "x";
    const plain = partsOf(page(createServer()));
    const server = createServer({
      adminScope: scope,
      impliedScopes: { [`${scope}y`]: ["a:read"] },
      scopeMappings: { [`MCP tools/call x${text}x`]: [] },
    });
    const roles = Object.fromEntries([[text, [text]]]);
    const routes = [{ method: "GET", pattern: `/${text}` }];
    const { data, ...code } = partsOf(page(server, { title: text, roles, routes }));
    expect({ ...code, data: plain.data }).toEqual(plain);
    expect(data).toMatchObject({ title: text, adminScope: scope, roles: [[text, [text]]] });
    expect(data.rules.map(({ key }) => key)).toContain(`MCP tools/call x${text}x`);
  });

  it("contains no control character and none that changes the direction of text", () => {
    const hidden = "a\u009b31m\u202eb\u2066c\u2069\u200f\u061c\u2028\u007f";
    const server = createServer({ scopeMappings: { ["MCP tools/call a\u202eb"]: [] } });
    const html = page(server, { title: hidden, roles: { [hidden]: [] } });
    expect(html).not.toMatch(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
    const { title, roles, rules } = partsOf(html).data;
    expect({ title, roles }).toEqual({ title: hidden, roles: [[hidden, []]] });
    expect(rules.map(({ key }) => key)).toContain("MCP tools/call a\u202eb");
  });

  it("contains only the policy of the server", () => {
    const canary = "canary-7d1f";
    const server = createServer({
      issuer: `https://${canary}.example`,
      serviceId: canary,
      realm: canary,
      userIdClaim: canary,
      scopesClaim: canary,
      requiredClaims: [canary],
      tokenSources: [{ cookie: canary }],
    });
    const html = page(server);
    expect(html).not.toContain(canary);
    expect(html).not.toContain(issuer.publicPem.split("\n")[1]);
    expect(Object.keys(partsOf(html).data).sort().join(" ")).toBe(
      "adminScope authorization findings hasBatches implied policy roles rules title unmappedRoutes",
    );
  });

  it("contains the audit only if it receives routes", () => {
    const server = createServer({ scopeMappings: { "* /{*path}": "public" } });
    const [finding] = partsOf(page(server)).data.findings;
    expect(finding).toMatchObject({ severity: "error", rule: "* /{*path}" });
    const routes = [{ method: "GET", pattern: "/forgotten/:id" }];
    const report = audit(createServer(), routes);
    for (const given of [routes, () => routes]) {
      const { audit: summary, findings } = partsOf(page(createServer(), { routes: given })).data;
      expect(summary).toBe(report.summary);
      expect(findings.map(({ message }) => message)).toEqual(report.findings.map(({ message }) => message));
    }
  });

  const INVALID = "page.roles: has an invalid value";

  it.each<[string, unknown]>([
    ["unknown option `route`", { route: [] }],
    ["page.title: has an invalid value", { title: 1 }],
    ["audit takes", { routes: [1] }],
    ...["agents:read", [1], "anonymus", { scopes: "agents:read" }, { scopes: [], claim: {} }].map(
      (reader): [string, unknown] => [INVALID, { roles: { reader } }],
    ),
    [INVALID, { roles: { reader: { scopes: [], claims: [] } } }],
    [INVALID, { roles: { reader: { scopes: [], tenant: 5 } } }],
  ])("throws %j for the options %j", (message, options) => {
    expect(() => page(createServer(), options as PageOptions)).toThrow(message);
  });

  it("accepts a resource server, and rejects a copy of it", () => {
    expect(() => page({ ...createServer() })).toThrow(/^page takes the resource server itself/);
  });
});
