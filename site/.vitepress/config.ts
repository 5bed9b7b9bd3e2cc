/** The documentation site: the Markdown files of the repository, with search and the API reference. */
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { addressOf, resolveLink, ROOT, sidebarOf, slugOf } from "../pages.ts";
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

export default defineConfig({
  title: "scopegate",
  description:
    "Verifies the JWT bearer token of every request, and decides by one table of routes and scopes.",
  lang: "en",
  srcDir: ROOT,
  cacheDir: fileURLToPath(new URL("../cache", import.meta.url)),
  srcExclude: ["{src,test,site,bench,scripts,.github}/**", "examples/*/**"],
  rewrites: (path) => addressOf(path) ?? path,
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", href: "data:," }],
    ["script", {}, TAB_SCRIPT],
    ["style", {}, TAB_STYLES],
    ["style", {}, ".policy { width: 100%; height: 44rem; border: 1px solid var(--vp-c-divider) }"],
  ],
  vite: { publicDir: fileURLToPath(new URL("../public", import.meta.url)) },
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: "github-light", dark: "github-dark" },
    config(markdown) {
      markdown.core.ruler.push("site", ({ tokens, env }) => {
        const from = pathIn(env as RenderedPage);
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const link = token.attrGet("href");
          if (link !== null) token.attrSet("href", resolveLink(from, link));
        }
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
      // The site shows the policy page itself, where the repository has a picture of it.
      markdown.renderer.rules.image = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (!token?.attrGet("src")?.endsWith("/policy-page.png"))
          return image?.(tokens, index, options, env, self) ?? "";
        return `<iframe class="policy" src="../policy.html" title="The policy page of a sample table"></iframe>`;
      };
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          // A guide answers more questions than the reference of a property.
          searchOptions: { boostDocument: (id: string) => (id.includes("/api/") ? 0.2 : 1) },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start/" },
      { text: "The table", link: "/understand/table" },
      { text: "Options", link: "/reference/options" },
      { text: "API", link: "/api/" },
      { text: "Map", link: "/map" },
    ],
    sidebar: sidebarOf().map((group) => ({
      ...group,
      items: group.text === "Look up" ? [...group.items, { text: "API", link: "/api/" }] : group.items,
    })),
    docFooter: { prev: false, next: false },
  },
});
