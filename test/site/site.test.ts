/** The built documentation site: its links, and how it looks and works in a browser. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, posix } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MOVED, ROOT, sidebarOf } from "../../site/pages.ts";
import { EXAMPLES } from "../../site/playground/examples.ts";
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

  it("lists its pages in llms.txt as Markdown, whose links lead to each other", () => {
    const dead: string[] = [];
    const read = new Set<string>();
    const follow = (address: string): void => {
      if (read.has(address)) return;
      read.add(address);
      const text = readFileSync(join(folder, address), "utf8");
      for (const [, link = ""] of text.matchAll(/\]\((?!https?:|#)([^()#]+)(?:#[^()]*)?\)/g)) {
        const target = posix.join(posix.dirname(address), link);
        if (!existsSync(join(folder, target))) dead.push(`${address}: ${link}`);
        else if (target.endsWith(".md")) follow(target);
      }
    };
    follow("llms.txt");
    expect(dead).toEqual([]);
    expect(read.size).toBeGreaterThan(45);
    expect([...read]).toContain("understand/table.md");
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

/** The size and the contrast (WCAG 2.2, 1.4.3) of every text of the playground. */
const READ_TEXTS = `(() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const channels = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [red, green, blue] = color.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const over = (top, below) => top.slice(0, 3).map((value, index) => (value * top[3] + below[index] * (255 - top[3])) / 255);
  const backgroundOf = (element) => {
    if (!element) return channels("white");
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 255 ? own : over(own, backgroundOf(element.parentElement));
  };
  const texts = [];
  for (const element of document.querySelectorAll(".playground *")) {
    const field = "value" in element && element.type !== "checkbox" ? element.value : "";
    const written = [...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data).join("").trim();
    const text = field || written;
    if (text === "" || element.tagName === "OPTION" || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const background = backgroundOf(element);
    const pair = [luminance(over(channels(style.color), background)), luminance(background)].sort((a, b) => b - a);
    texts.push({ text, size: parseFloat(style.fontSize), contrast: (pair[0] + 0.05) / (pair[1] + 0.05) });
  }
  return texts;
})()`;

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
    "shows every page of the map without scrolling sideways, and all of its code, on %s",
    async (_, width) => {
      const tab = await open(width);
      const links = ["/map", "/api/", ...linksOf(sidebarOf())];
      expect(links.length).toBeGreaterThan(45);
      for (const link of links) {
        await visit(tab, link.slice(1));
        expect(await tab.locator("h1").count(), link).toBe(1);
        const extra = await tab.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        expect(extra, link).toBe(0);
        const cutOff = await tab.evaluate(
          "[...document.querySelectorAll('.vp-doc pre')].filter((code) => code.scrollWidth > code.clientWidth).length",
        );
        expect(cutOff, link).toBe(0);
      }
      await tab.close();
    },
    120_000,
  );

  it("shows the framework that the reader chooses, with the mouse or the keyboard, and remembers it", async () => {
    const tab = await open(1280);
    await visit(tab, "start/");
    const shown = () => tab.locator(".tab-panel:visible h3").allTextContents();
    await expect.poll(shown).toEqual([expect.stringContaining("Express")]);
    await tab.getByRole("tab", { name: "Koa" }).first().click();
    expect(await shown()).toEqual([expect.stringContaining("Koa")]);
    await tab.keyboard.press("ArrowRight");
    expect(await tab.locator(":focus").textContent()).toBe("Fastify");
    await tab.reload();
    await expect.poll(shown).toEqual([expect.stringContaining("Fastify")]);
    expect(await tab.getByRole("tab", { selected: true }).allTextContents()).toEqual(["Fastify"]);
    await visit(tab, "start/hono");
    await tab.waitForURL(/start\/#hono$/);
    await expect.poll(shown).toEqual([expect.stringContaining("Hono")]);
    await tab.close();
  });

  it("shows every framework, one below the other, without a script", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const tab = await context.newPage();
    await visit(tab, "start/");
    expect(await tab.locator(".tab-panel:visible").count()).toBe(7);
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

  it("shows the policy page of a sample table, which opens with a decision and explains a request", async () => {
    const tab = await open(1280);
    await visit(tab, "guides/ci");
    const policy = tab.frameLocator("iframe.policy");
    await expect.poll(() => policy.locator("#response").textContent()).toBe("allowed");
    await policy.locator("#caller").fill("agents:web:run");
    await policy.locator("#method").fill("POST");
    await policy.locator("#path").fill("/agents/api/runs");
    await expect
      .poll(() => policy.locator("#text").textContent())
      .toMatch(/missing +agents:api:run\n +decision +refused: scope_insufficient/);
    await tab.close();
  });

  describe.each([
    ["a phone", 375, "light"],
    ["a phone", 375, "dark"],
    ["a desktop", 1280, "light"],
    ["a desktop", 1280, "dark"],
  ] as const)("the playground on %s (%i px, %s)", (_, width, colorScheme) => {
    const verdictOf = (tab: Page) => tab.locator(".playground .verdict").textContent();
    const explanationOf = (tab: Page) => tab.locator(".playground details pre").last().textContent();

    it("opens with a decision and its steps, and decides again while the reader types", async () => {
      const tab = await open(width, colorScheme);
      await visit(tab, "");
      await expect.poll(() => verdictOf(tab)).toBe("403 refused: scope_insufficient");
      expect(await tab.locator(".playground .steps li").count()).toBeGreaterThanOrEqual(5);
      await tab.getByLabel("Path", { exact: true }).fill("/stores/berlin/orders");
      await expect.poll(() => verdictOf(tab)).toBe("Allowed: the handler runs");
      expect(await explanationOf(tab)).toContain(
        "satisfied  stores:berlin:read by stores:berlin:read (exact)",
      );
      await tab.getByLabel("Table", { exact: true }).fill('"GET /a": ["public"]');
      await expect.poll(() => verdictOf(tab)).toBe("The server doesn't start");
      await tab.getByLabel("Table", { exact: true }).fill('"GET /a": ["a:b"]');
      await expect.poll(() => verdictOf(tab)).toBe("403 refused: route_unmapped");
      await tab.getByLabel("Table", { exact: true }).fill('"GET /a": ["public"]');
      await expect.poll(() => verdictOf(tab)).toBe("The server doesn't start");
      expect(await tab.locator(".playground .mistakes").textContent()).toContain(
        'Write "public" without the array',
      );
      await tab.close();
    });

    it("fits the window, with text of at least 12 px that can be read against its background", async () => {
      const tab = await open(width, colorScheme);
      await visit(tab, "");
      await tab.locator(".playground .verdict").waitFor();
      const texts =
        await tab.evaluate<
          readonly { readonly text: string; readonly size: number; readonly contrast: number }[]
        >(READ_TEXTS);
      expect(texts.length).toBeGreaterThan(20);
      expect(texts.filter(({ size, contrast }) => size < 12 || contrast < 4.5)).toEqual([]);
      const extra = await tab.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      expect(extra).toBe(0);
      await tab.close();
    });
  });

  it("lets a reader use the playground with the keyboard alone", async () => {
    const tab = await open(1280);
    await visit(tab, "");
    await tab.locator(".playground .verdict").waitFor();
    const first = tab.locator(".playground .examples button").first();
    await first.focus();
    const order: string[] = [];
    for (let left = 12; left > 0; left -= 1) {
      order.push(
        await tab.evaluate<string>("document.activeElement.id || document.activeElement.textContent.trim()"),
      );
      await tab.keyboard.press("Tab");
    }
    expect(order).toEqual([
      ...EXAMPLES.map(({ name }) => name),
      "playground-table",
      "playground-method",
      "playground-path",
      "playground-token",
      "playground-scopes",
      "playground-claims",
      "The response",
    ]);
    await tab.locator(".playground .examples button").nth(4).focus();
    await tab.keyboard.press("Enter");
    await expect
      .poll(() => tab.locator(".playground .verdict").textContent())
      .toBe("The server doesn't start");
    await tab.close();
  });

  it("shares what the reader entered as an address", async () => {
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
    const tab = await context.newPage();
    await visit(tab, "");
    await tab.locator(".playground .verdict").waitFor();
    await tab.getByLabel("Path", { exact: true }).fill("/stores/berlin/orders?ä=1");
    await tab.getByRole("button", { name: "Copy a link to this" }).click();
    await tab.getByRole("button", { name: "Copied" }).waitFor();
    const address = await tab.evaluate<string>("navigator.clipboard.readText()");
    const other = await context.newPage();
    await other.goto(address);
    await other.locator(".playground .verdict.good").waitFor();
    expect(await other.getByLabel("Path", { exact: true }).inputValue()).toBe("/stores/berlin/orders?ä=1");
    // Nothing of it was sent.
    expect(new URL(address).hash.length).toBeGreaterThan(20);
    await context.close();
  });

  it("has pictures whose text is at least 12 px on a phone", async () => {
    const tab = await open(375);
    const sizes: number[] = [];
    for (const [page, name] of [
      ["understand/table", "request.svg"],
      ["understand/routes", "two-rules.svg"],
    ] as const) {
      await visit(tab, page);
      for (const picture of await tab.locator(".vp-doc p img").all()) {
        const { width = 0 } = (await picture.boundingBox()) ?? {};
        const svg = readFileSync(join(ROOT, "docs/pictures", name), "utf8");
        const [, natural = ""] = /viewBox="0 0 (\d+)/.exec(svg) ?? [];
        for (const [, size = ""] of svg.matchAll(/font(?:-size)?: ([\d.]+)px/g))
          sizes.push((Number(size) * width) / Number(natural));
      }
    }
    expect(sizes.length).toBe(4);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(12);
    await tab.close();
  });

  it("finds words as they are written, by keywords too, and nothing that only looks alike", async () => {
    const tab = await open(1280);
    await visit(tab, "");
    const search = async (words: string): Promise<readonly string[]> => {
      await tab.locator(".DocSearch-Button").click();
      await tab.locator("#localsearch-input").fill(words);
      await expect.poll(() => tab.locator(".results .result, .no-results").count()).toBeGreaterThan(0);
      const addresses = await tab.evaluate<readonly string[]>(
        '[...document.querySelectorAll(".results .result")].map((link) => link.getAttribute("href"))',
      );
      await tab.keyboard.press("Escape");
      return addresses;
    };
    expect(await search("stabel")).toEqual([]);
    const [first = ""] = await search("IDOR");
    expect(first).toContain("guides/conditions");
    expect((await search("decision record")).filter((address) => address.includes("decisions/0"))).toEqual(
      [],
    );
    await tab.close();
  });
});
