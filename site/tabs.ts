/** Tabs of the site: headings that name a framework stand one after another, as on GitHub, and share a list of tabs. */

/** What a heading must contain, by the value that is kept in the browser. */
const FRAMEWORKS: Readonly<Record<string, string>> = {
  express: "Express",
  koa: "Koa",
  fastify: "Fastify",
  hono: "Hono",
  nestjs: "NestJS",
  node: "Node.js",
  fetch: "Fetch",
};
const VALUES = Object.keys(FRAMEWORKS);

/** The properties of a token of markdown-it that are used here. */
interface Token {
  readonly type: string;
  readonly tag: string;
  readonly content: string;
}

const frameworkOf = (heading: string): string | undefined =>
  VALUES.find((value) => heading.toLowerCase().includes((FRAMEWORKS[value] ?? "").toLowerCase()));

const tabFor = (value: string): string =>
  `<button type="button" role="tab" data-framework="${value}">${FRAMEWORKS[value]}</button>`;

/**
 * Puts each section of a third-level heading that names a framework into a panel, and a list of tabs before each run
 * of panels.
 */
export function groupTabs<T extends Token>(tokens: readonly T[], htmlOf: (html: string) => T): readonly T[] {
  const grouped: T[] = [];
  /** The frameworks of the current run of panels, and where it begins in `grouped`. */
  let run: { readonly start: number; readonly values: string[] } | undefined;
  const endRun = (): void => {
    if (run === undefined) return;
    const tabs = run.values.map(tabFor).join("");
    const list = `<div class="tab-list" v-tabs role="tablist" aria-label="Framework">${tabs}</div>`;
    grouped.splice(run.start, 0, htmlOf(list));
    grouped.push(htmlOf("</section>"));
    run = undefined;
  };
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open" && ["h1", "h2", "h3"].includes(token.tag)) {
      const value = token.tag === "h3" ? frameworkOf(tokens[index + 1]?.content ?? "") : undefined;
      if (value === undefined) endRun();
      else {
        if (run === undefined) run = { start: grouped.length, values: [] };
        else grouped.push(htmlOf("</section>"));
        run.values.push(value);
        grouped.push(htmlOf(`<section class="tab-panel" data-framework="${value}">`));
      }
    }
    grouped.push(token);
  }
  endRun();
  return grouped;
}

const ofEach = (ruleFor: (chosen: string, value: string) => string): string =>
  VALUES.map((value) => ruleFor(`html[data-framework="${value}"]`, value)).join("\n");

/** Without a script, `html` has no attribute, the tabs are hidden, and all panels are shown. */
export const TAB_STYLES = `
.tab-list { display: none; flex-wrap: wrap; gap: 0 1.25rem; margin-top: 1.5rem; border-bottom: 1px solid var(--vp-c-divider) }
html[data-framework] .tab-list { display: flex }
.tab-list button { margin-bottom: -1px; padding: .5rem 0; border-bottom: 2px solid transparent; font-weight: 500; color: var(--vp-c-text-2) }
.tab-list button:hover { color: var(--vp-c-text-1) }
.tab-list button:focus-visible { outline: 2px solid var(--vp-c-brand-1); outline-offset: 2px }
${ofEach((chosen, value) => `${chosen} .tab-panel:not([data-framework="${value}"]) { display: none }`)}
${ofEach((chosen, value) => `${chosen} .tab-list [data-framework="${value}"] { border-color: var(--vp-c-brand-1); color: var(--vp-c-brand-1) }`)}
`;

/** Chooses before the page is painted: the framework of the address, the last one, or the first one. */
export const TAB_SCRIPT = `(() => {
  const values = ${JSON.stringify(VALUES)};
  let last;
  try { last = localStorage.getItem("framework") } catch {}
  const linked = values.find((value) => location.hash.includes(value));
  document.documentElement.dataset.framework = linked ?? (values.includes(last) ? last : values[0]);
})()`;
