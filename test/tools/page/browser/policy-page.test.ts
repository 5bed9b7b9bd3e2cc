/** The policy page in Chromium. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ResourceServer, ScopeMappings } from "scopegate";
import type { ExplainQuery } from "../../../../src/capabilities/explain/explain.ts";
import { page as renderPage, type PageOptions } from "scopegate/page";
import { explain } from "scopegate/explain";
import { options, queries } from "../random-policy.ts";
import { createServer } from "../../../support/resource-servers.ts";
import { hasChromium, launch } from "./chromium.ts";
import { temporaryFolder } from "../../../support/folder.ts";

/** Enters each query as a user does, and returns the explanations that the page shows. */
const ASK_ALL = `(queries) => queries.map(({ method, path, scopes }) => {
  const entered = { method, path, caller: scopes ? (scopes.length > 0 ? scopes.join(" ") : '{"scopes":[]}') : "" };
  for (const [id, value] of Object.entries(entered)) {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event("input"));
  }
  return document.getElementById("text").textContent;
})`;

/** The longest time for one key of the search, until the layout is done, in milliseconds. */
const TIME_SEARCH = `() => Math.max(...["s", "se", "service7", "service7 item", ""].map((value) => {
  const field = document.getElementById("filter");
  const start = performance.now();
  field.value = value;
  field.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect();
  return performance.now() - start;
}))`;

describe.skipIf(!hasChromium)("the policy page in Chromium", () => {
  const folder = temporaryFolder("policy-page");
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  const problems: string[] = [];
  afterEach(() => {
    expect(problems.splice(0)).toEqual([]);
  });

  /** Every message of the console, every error and every request but that of the file is a problem. */
  async function open(server: ResourceServer, given: PageOptions = {}): Promise<Page> {
    const file = join(folder, "policy.html");
    writeFileSync(file, renderPage(server, given));
    const tab = await browser.newPage();
    const url = pathToFileURL(file).href;
    tab.on("console", (message) => problems.push(message.text()));
    tab.on("pageerror", ({ message }) => problems.push(message));
    tab.on("dialog", (dialog) => void dialog.dismiss().then(() => problems.push(dialog.message())));
    tab.on("request", (request) => {
      if (request.url() !== url) problems.push(request.url());
    });
    await tab.goto(url);
    return tab;
  }
  const evaluate = <Result>(tab: Page, code: string, argument?: unknown): Promise<Result> =>
    tab.evaluate(`(${code})(${JSON.stringify(argument)})`);

  it("decides 1,000 random queries as `explain` does", async () => {
    for (const given of fc.sample(options, { numRuns: 20, seed: 17 })) {
      const server = createServer(given);
      const tab = await open(server);
      const asked: readonly ExplainQuery[] = fc.sample(queries, { numRuns: 50, seed: 17 });
      const shown = await evaluate<readonly string[]>(tab, ASK_ALL, asked);
      expect(shown).toEqual(asked.map((query) => explain(server, query).text));
      await tab.close();
    }
  });

  it("supports the keyboard alone", async () => {
    const tab = await open(createServer(), { roles: { reader: ["agents:read"] } });
    const focused = () => evaluate<string>(tab, "() => document.activeElement.id");
    await tab.keyboard.press("Tab");
    expect(await evaluate(tab, "() => document.activeElement.textContent")).toBe("Skip to the rules");
    const order = [];
    for (let left = 6; left > 0; left -= 1) {
      await tab.keyboard.press("Tab");
      order.push(await focused());
    }
    expect(order).toEqual(["caller", "add", "claim", "tenant", "method", "path"]);
    await tab.locator("#caller").focus();
    await tab.keyboard.press("Control+A");
    await tab.keyboard.type("agents:web:run");
    await tab.locator("tbody button").first().focus();
    await tab.keyboard.press("Enter");
    expect(await focused()).toBe("path");
    expect(await tab.locator("#read").textContent()).toBe("Scopes: agents:web:run");
    await tab.locator("#filter").focus();
    await tab.keyboard.type("runs agents");
    expect(await tab.locator("tbody tr:visible").count()).toBe(1);
    expect(await tab.locator("tbody tr:visible td.some").textContent()).toContain("if agent_id = web");
    await tab.close();
  });

  it("opens with a decision: a caller with the scopes of the first rule that needs some, and isn't of a base table", async () => {
    const scopeMappings: ScopeMappings = { "GET /health": "public", "* /orders/:id": ["orders:<id>:read"] };
    const tab = await open(createServer({ scopeMappings }));
    expect(await tab.inputValue("#caller")).toBe("orders:read");
    expect(await tab.inputValue("#path")).toBe("/orders/id");
    expect(await tab.locator("#response").textContent()).toBe("allowed");
    await tab.close();
    const withBase = await open(
      createServer({
        defaultScopeMappings: { "GET /agents": ["agents:read"] },
        scopeMappings: { "GET /orders": ["orders:read"] },
      }),
    );
    expect(await withBase.inputValue("#caller")).toBe("orders:read");
    await withBase.close();
    const other = await open(createServer({ scopeMappings: { "GET /health": "public" } }));
    expect(await other.inputValue("#caller")).toBe("");
    expect(await other.locator("#response").textContent()).toBe("allowed");
    await other.close();
  });

  it("names every field and region for screen readers", async () => {
    const tab = await open(createServer(), { routes: [{ method: "GET", pattern: "/agents" }] });
    for (const [role, name] of [
      ["textbox", "Scopes, the claims of a token as JSON, or a token"],
      ["combobox", "Add a scope or a role"],
      ["textbox", "Claim with the scopes"],
      ["textbox", "Tenant of the issuer"],
      ["textbox", "Method"],
      ["textbox", "Path"],
      ["searchbox", "Search"],
      ["combobox", "Show"],
      ["heading", "Who may?"],
      ["heading", "Why not?"],
      ["heading", "Rules"],
      ["heading", "Audit"],
      ["columnheader", "Requires"],
    ] as const)
      expect(await tab.getByRole(role, { name, exact: true }).count(), name).toBe(1);
    expect(await tab.getByRole("main").count()).toBe(1);
    expect(await tab.getByRole("status").count()).toBe(3);
    await tab.close();
  });

  it("does not run hostile texts", async () => {
    const hostile = "a</script><img src=x onerror=alert(1)><script>alert(1)</script>b";
    const server = createServer({
      adminScope: "a<img/src=x/onerror=alert(1)>",
      scopeMappings: { [`MCP tools/call ${hostile}`]: [] },
    });
    const tab = await open(server, { title: hostile, roles: { [hostile]: [hostile] } });
    await tab.fill("#caller", hostile);
    await tab.fill("#path", hostile);
    await tab.fill("#claim", hostile);
    expect(await tab.title()).toBe(hostile);
    expect(await tab.locator("img").count()).toBe(0);
    await tab.close();
  });

  it("reads a token without sending it", async () => {
    const tab = await open(createServer());
    const claims = Buffer.from(JSON.stringify({ scopes: ["agents:read"] })).toString("base64url");
    await tab.fill("#caller", `eyJ9.${claims}.c2ln`);
    expect(await tab.locator("#read").textContent()).toBe("Scopes in the claims: agents:read");
    await tab.close();
  });

  it("searches 1,000 rules in less than 50 ms for each key", async () => {
    const scopeMappings = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [
        `GET /service${index % 50}/item${index}/:id`,
        [`service${index % 50}:<id>:read`],
      ]),
    );
    const tab = await open(createServer({ scopeMappings }), {
      roles: { reader: ["service1:read"], operator: ["service2:3:read"] },
    });
    // The fastest of some runs, because the machine may be busy with something else.
    const times = [];
    for (let left = 5; left > 0; left -= 1) times.push(await evaluate<number>(tab, TIME_SEARCH));
    console.log(`The slowest key takes ${Math.min(...times).toFixed(1)} ms.`);
    expect(Math.min(...times)).toBeLessThan(50);
    await tab.close();
  });

  it("fits a phone", async () => {
    const tab = await open(createServer(), { roles: { reader: ["agents:read"], admin: ["platform:admin"] } });
    await tab.setViewportSize({ width: 360, height: 740 });
    expect(await evaluate<number>(tab, "() => document.documentElement.scrollWidth")).toBe(360);
    await tab.close();
  });
});
