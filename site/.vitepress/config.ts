/** The documentation site: the Markdown files of the repository, with search and the API reference. */
import { readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { KEYWORDS } from "../keywords.ts";
import { addressOf, EXCLUDED, resolveLink, ROOT, sidebarOf, slugOf } from "../pages.ts";
import { enginePlugin } from "../playground/bundle.ts";
import { withPowershell } from "../shell-tabs.ts";
import { groupTabs, TAB_SCRIPT, TAB_STYLES } from "../tabs.ts";

/** What VitePress knows about the page that it renders. */
interface RenderedPage {
  readonly path: string;
  /** The file, if the address of the page is another one. */
  readonly realPath?: string;
}

const pathIn = (page: RenderedPage): string =>
  relative(ROOT, page.realPath ?? page.path)
    .split(sep)
    .join("/");

const { version, repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly repository?: { readonly url: string };
};
/** The address of the repository in a browser. */
const repositoryUrl = repository?.url.replace(/^git\+|\.git$/g, "");
const base = process.env["SITE_BASE"] ?? "/";
const DESCRIPTION =
  "Authenticate every request to a Node.js service with a JWT, and authorize it by scopes, from one table.";

export default defineConfig({
  title: "scopegate",
  description: DESCRIPTION,
  lang: "en",
  srcDir: ROOT,
  cacheDir: fileURLToPath(new URL("../cache", import.meta.url)),
  srcExclude: [...EXCLUDED],
  rewrites: (path) => addressOf(path) ?? path,
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: `${base}logo.svg` }],
    ["meta", { property: "og:type", content: "website" }],
    ["meta", { property: "og:title", content: "scopegate: every route, one table" }],
    ["meta", { property: "og:description", content: DESCRIPTION }],
    // Other sites need a whole address, which is known where the site is published.
    ["meta", { property: "og:image", content: `${process.env["SITE_ORIGIN"] ?? ""}${base}social.png` }],
    ["meta", { name: "twitter:card", content: "summary_large_image" }],
    ["script", {}, TAB_SCRIPT],
    ["style", {}, TAB_STYLES],
    // Code that is cut off can't be read, so long lines are wrapped.
    ["style", {}, ".vp-doc div[class*=language-] code { white-space: pre-wrap; overflow-wrap: anywhere }"],
    // The playground begins on the first screen.
    ["style", {}, ".VPHome .VPHero { padding-top: 96px; padding-bottom: 16px }"],
    ["style", {}, ".topics { margin-top: 0.5rem; font-size: 0.875rem; color: var(--vp-c-text-2) }"],
    ["style", {}, ".chart { display: block; overflow-x: auto } .chart img { max-width: none }"],
    ["style", {}, ".policy { width: 100%; height: 44rem; border: 1px solid var(--vp-c-divider) }"],
  ],
  vite: { publicDir: fileURLToPath(new URL("../public", import.meta.url)), plugins: [enginePlugin] },
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: "github-light", dark: "github-dark" },
    config(markdown) {
      markdown.core.ruler.before("normalize", "shell", (state) => {
        state.src = withPowershell(state.src);
      });
      markdown.core.ruler.push("site", ({ tokens, env }) => {
        const from = pathIn(env as RenderedPage);
        for (const inline of tokens) {
          let isDropped = false;
          inline.children =
            inline.children?.filter((token) => {
              if (token.type === "link_close" && isDropped) return (isDropped = false);
              const link = token.attrGet("href");
              if (link === null) return true;
              const address = resolveLink(from, link);
              isDropped = address === undefined;
              if (address !== undefined) token.attrSet("href", address);
              return !isDropped;
            }) ?? null;
        }
      });
      markdown.core.ruler.push("topics", ({ tokens, env, Token }) => {
        const address = addressOf(pathIn(env as RenderedPage))?.replace(/\.md$/, "") ?? "";
        const title = tokens.findIndex(({ type, tag }) => type === "heading_close" && tag === "h1");
        if (KEYWORDS[address] === undefined || title < 0) return;
        const content = `<p class="topics">About: ${KEYWORDS[address]}</p>`;
        tokens.splice(title + 1, 0, Object.assign(new Token("html_block", "", 0), { content }));
      });
      markdown.core.ruler.push("tabs", (state) => {
        if (pathIn(state.env as RenderedPage) !== "docs/start/README.md") return;
        state.tokens = [
          ...groupTabs(state.tokens, (html) =>
            Object.assign(new state.Token("html_block", "", 0), { content: html }),
          ),
        ];
      });
      const { image } = markdown.renderer.rules;
      markdown.renderer.rules.image = (tokens, index, options, env, self) => {
        const source = tokens[index]?.attrGet("src") ?? "";
        // The site shows the policy page itself, where the repository has a picture of it.
        if (source.endsWith("/policy-page.png"))
          return `<iframe class="policy" src="../policy.html" title="The policy page of a sample table"></iframe>`;
        const picture = image?.(tokens, index, options, env, self) ?? "";
        // A chart keeps its size, so that its text can be read on a phone.
        return source.includes("/benchmarks/")
          ? `<span class="chart" tabindex="0">${picture}</span>`
          : picture;
      };
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: {
            // Words that are spelled alike mean other things: "stable" is not "table".
            fuzzy: false,
            // A guide answers more questions than the reference of a property.
            boostDocument: (id: string) => (id.includes("/api/") ? 0.2 : 1),
          },
        },
      },
    },
    logo: { src: "/logo.svg", alt: "" },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start/" },
      { text: "Why", link: "/why" },
      { text: "The table", link: "/understand/table" },
      { text: "Options", link: "/reference/options" },
      { text: "API", link: "/api/" },
      { text: "All pages", link: "/map" },
      {
        text: version,
        items: [
          { text: "Changes", link: "/changelog" },
          { text: "Versions, license and support", link: "/reference/versions" },
          { text: "Report a vulnerability", link: "/security-policy" },
        ],
      },
    ],
    sidebar: sidebarOf().map((group) => ({
      ...group,
      items: group.text === "Reference" ? [...group.items, { text: "API", link: "/api/" }] : group.items,
    })),
    footer: {
      message: "MIT license",
      copyright: `scopegate ${version} for Node.js 20.19 or later, or 22.12 or later`,
    },
    ...(repositoryUrl !== undefined && {
      editLink: {
        pattern: ({ filePath }) => `${repositoryUrl}/edit/main/${filePath}`,
        text: "Edit this page",
      },
      socialLinks: [{ icon: "github", link: repositoryUrl }],
    }),
  },
});
