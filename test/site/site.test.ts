/** The built documentation site: its links, and how it looks and works in a browser. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MOVED, ROOT, sidebarOf } from "../../site/pages.ts";
import { hasChromium, launch } from "../tools/page/browser/chromium.ts";
import { ENTRIES } from "../package/packed.ts";
import { listen } from "../support/http.ts";
import { temporaryFolder } from "../support/folder.ts";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

/** As on GitHub Pages, where a site is not at the root of its host. */
const BASE = "/scopegate/";
const folder = temporaryFolder("site");

beforeAll(() => {
  execFileSync(process.execPath, ["--import", "tsx", "site/build.ts", "--out", folder, "--base", BASE], {
    ...LONG_CHILD_LIMIT,
    cwd: ROOT,
    stdio: "pipe",
  });
}, 300_000);

/** The file that a static host serves for an address of the site. */
function fileAt(address: string): string | undefined {
  if (!address.startsWith(BASE)) return undefined;
  const path = join(folder, decodeURIComponent(address.slice(BASE.length)));
  const candidates = [path, `${path}.html`, join(path, "index.html")];
  return candidates.find((one) => existsSync(one) && statSync(one).isFile());
}

const linksOf = (items: ReturnType<typeof sidebarOf>): readonly string[] =>
  items.flatMap(({ items }) => items.flatMap((one) => ("link" in one ? [one.link] : linksOf([one]))));

describe("the documentation site", () => {
  it("contains a page or a file, and the heading, for every link inside it", () => {
    const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((one) =>
      one.endsWith(".html"),
    );
    expect(pages.length).toBeGreaterThan(60);
    const dead: string[] = [];
    for (const page of pages.filter((one) => one !== "policy.html")) {
      const html = readFileSync(join(folder, page), "utf8");
      for (const [, link = ""] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
        if (/^(?:[a-z]+:|\/\/)/.test(link)) continue;
        const { pathname, hash } = new URL(link, `http://site${BASE}${page}`);
        const file = fileAt(pathname);
        if (file === undefined) dead.push(`${page}: ${link}`);
        else if (
          hash !== "" &&
          !readFileSync(file, "utf8").includes(` id="${decodeURIComponent(hash.slice(1))}"`)
        )
          dead.push(`${page}: ${link}`);
      }
    }
    expect([...new Set(dead)]).toEqual([]);
  });

  it("leads from the addresses of moved pages to a page and a heading that exist", () => {
    for (const [address, target] of Object.entries(MOVED)) {
      const html = readFileSync(fileAt(`${BASE}${address}`) ?? "", "utf8");
      expect(html).toContain(`http-equiv="refresh" content="0; url=${target}"`);
      const { pathname, hash } = new URL(target, `http://site${BASE}${address}`);
      expect(readFileSync(fileAt(pathname) ?? "", "utf8")).toContain(` id="${hash.slice(1)}"`);
    }
  });

  it("contains the reference of every entry point", () => {
    for (const name of ENTRIES.values()) expect(fileAt(`${BASE}api/${name}`), name).toBeDefined();
    expect(readFileSync(fileAt(`${BASE}api/scopegate`) ?? "", "utf8")).toContain("createResourceServer");
  });
});

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

describe.skipIf(!hasChromium)("the documentation site in Chromium", () => {
  let browser: Browser;
  let origin: string;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const server = createServer(({ url = "" }, response) => {
      const file = fileAt(new URL(url, "http://site").pathname);
      if (file === undefined) response.writeHead(404).end();
      else
        response
          .writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" })
          .end(readFileSync(file));
    });
    const served = await listen(server);
    origin = `http://127.0.0.1:${served.port}`;
    close = served.close;
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await close();
  });
  const problems: string[] = [];
  afterEach(() => {
    expect(problems.splice(0)).toEqual([]);
  });

  /** Every error, warning, failed request and request to another host is a problem. */
  async function open(width: number, colorScheme: "light" | "dark" = "light"): Promise<Page> {
    const tab = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    tab.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) problems.push(message.text());
    });
    tab.on("pageerror", ({ message }) => problems.push(message));
    tab.on("response", (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    tab.on("request", (request) => {
      if (/^https?:/.test(request.url()) && !request.url().startsWith(origin)) problems.push(request.url());
    });
    return tab;
  }
  const visit = (tab: Page, path: string) => tab.goto(origin + BASE + path);

  it.each([
    ["a phone", 375],
    ["a desktop", 1280],
  ])(
    "shows every page of the map without scrolling sideways on %s",
    async (_, width) => {
      const tab = await open(width);
      const links = ["/", "/map", "/api/", ...linksOf(sidebarOf())];
      expect(links.length).toBeGreaterThan(45);
      for (const link of links) {
        await visit(tab, link.slice(1));
        expect(await tab.locator("h1").count(), link).toBe(1);
        const extra = await tab.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        expect(extra, link).toBe(0);
      }
      await tab.close();
    },
    120_000,
  );

  it("shows the framework that the reader chooses, with the mouse or the keyboard, and remembers it", async () => {
    const tab = await open(1280);
    await visit(tab, "start/");
    const shown = () => tab.locator(".tab-panel:visible h3").allTextContents();
    await expect
      .poll(shown)
      .toEqual([expect.stringContaining("Express"), expect.stringContaining("Express")]);
    await tab.getByRole("tab", { name: "Koa" }).first().click();
    expect(await shown()).toEqual([expect.stringContaining("Koa"), expect.stringContaining("Koa")]);
    await tab.keyboard.press("ArrowRight");
    expect(await tab.locator(":focus").textContent()).toBe("Fastify");
    await tab.reload();
    await expect
      .poll(shown)
      .toEqual([expect.stringContaining("Fastify"), expect.stringContaining("Fastify")]);
    expect(await tab.getByRole("tab", { selected: true }).allTextContents()).toEqual(["Fastify", "Fastify"]);
    await visit(tab, "start/hono");
    await tab.waitForURL(/start\/#hono$/);
    await expect.poll(shown).toEqual([expect.stringContaining("Hono"), expect.stringContaining("Hono")]);
    await tab.close();
  });

  it("shows every framework, one below the other, without a script", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const tab = await context.newPage();
    await visit(tab, "start/");
    expect(await tab.locator(".tab-panel:visible").count()).toBe(14);
    expect(await tab.getByRole("tab").count()).toBe(0);
    await context.close();
  });

  it("finds a page by what is written on it", async () => {
    const tab = await open(1280);
    await visit(tab, "");
    await tab.locator(".DocSearch-Button").click();
    await tab.locator("#localsearch-input").fill("adminScope");
    await tab.locator(".results .result").first().waitFor();
    // A page for readers comes before the reference.
    expect(await tab.locator(".results .result").first().textContent()).toContain("Options");
    await tab.locator(".results .result").first().click();
    await tab.waitForURL(/reference\/options/);
    await tab.close();
  });

  it("offers a dark mode, in which the pictures are dark as well", async () => {
    const tab = await open(1280);
    await visit(tab, "understand/table");
    /** The mean brightness of the first picture as it is painted, from 0 to 255. */
    const brightness = async (): Promise<number> => {
      const painted = (await tab.locator(".vp-doc img").first().screenshot()).toString("base64");
      return tab.evaluate<number>(`new Promise((resolve) => {
        const image = new Image();
        image.onload = () => {
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const { data } = context.getImageData(0, 0, image.width, image.height);
          resolve(data.reduce((sum, value, index) => (index % 4 === 0 ? sum + value : sum), 0) / (data.length / 4));
        };
        image.src = "data:image/png;base64,${painted}";
      })`);
    };
    expect(await brightness()).toBeGreaterThan(200);
    await tab.locator(".VPNavBarAppearance button").click();
    await expect.poll(brightness).toBeLessThan(80);
    await tab.close();
  });

  it("shows the policy page of a sample table, which explains a request", async () => {
    const tab = await open(1280);
    await visit(tab, "guides/policy-page");
    const policy = tab.frameLocator("iframe.policy");
    await policy.locator("#caller").fill("agents:web:run");
    await policy.locator("#method").fill("POST");
    await policy.locator("#path").fill("/agents/api/runs");
    await expect
      .poll(() => policy.locator("#text").textContent())
      .toMatch(/missing +agents:api:run\n +decision +refused: scope_insufficient/);
    await tab.close();
  });
});
