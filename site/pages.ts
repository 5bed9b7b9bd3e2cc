/** Which Markdown files the site shows, at which address, and in which order. */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The page that lists all others. */
const MAP = "docs/README.md";

/** The pages that have an address of their own. All others lose the folder `docs/`. */
const NAMED: Readonly<Record<string, string>> = {
  "site/home.md": "index.md",
  [MAP]: "map.md",
  "CHANGELOG.md": "changelog.md",
  "SECURITY.md": "security-policy.md",
  "examples/README.md": "examples.md",
  "docs/migrate/README.md": "migrate/index.md",
  "docs/providers/README.md": "providers/index.md",
  "docs/start/README.md": "start/index.md",
};

/** Pages for people who change scopegate. They are only in the repository. */
const REPOSITORY_ONLY = [
  "CONTRIBUTING.md",
  "REVIEW-CHECKLIST.md",
  "bench/RESULTS.md",
  "corpora/",
  "docs/decisions/",
  "test/security/vulnerabilities/README.md",
];

/** What the site leaves out, as patterns of paths. */
export const EXCLUDED = [
  "{src,test,bench,corpora,scripts,config,.github}/**",
  "examples/*/**",
  "site/public/**",
  "README.md",
  "CONTRIBUTING.md",
  "REVIEW-CHECKLIST.md",
  "docs/decisions/**",
] as const;

/** Where the site shows a file of the repository, or `undefined` if it does not. */
export function addressOf(path: string): string | undefined {
  const named = NAMED[path];
  if (named !== undefined) return named;
  if (path === "README.md") return NAMED["site/home.md"];
  if (REPOSITORY_ONLY.some((start) => path.startsWith(start))) return undefined;
  return path.startsWith("docs/") && path.endsWith(".md") ? path.slice("docs/".length) : undefined;
}

/** The files that pages link to, and that a browser loads as they are. */
export const FILES = [
  "docs/ci/policy.yml",
  "docs/grafana/alerts.yml",
  "docs/grafana/scopegate.json",
] as const;

/**
 * What a link from a page leads to on the site, or `undefined` if only the repository has the page. A link that leads
 * nowhere is an error.
 */
export function resolveLink(from: string, link: string): string | undefined {
  if (/^[a-z]+:|^#/.test(link)) return link;
  const [file = "", anchor] = link.split("#");
  const path = posix.join(posix.dirname(from), file);
  if (FILES.some((one) => one === path)) return `/${posix.basename(path)}`;
  if (REPOSITORY_ONLY.some((start) => path.startsWith(start))) return undefined;
  // The folders of the examples are described by one page.
  const address = addressOf(path.startsWith("examples/") ? "examples/README.md" : path);
  if (address === undefined) throw new Error(`${from} links to ${link}, which the site does not show.`);
  return `/${address.replace(/(?:^|(?<=\/))index\.md$|\.md$/, "")}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** The anchor of a heading, as on GitHub: the links between pages work there and here. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
    .replaceAll(" ", "-");

/** Addresses of pages that moved, and where a browser finds them now, relative to the old address. */
export const MOVED: Readonly<Record<string, string>> = {
  "start/express": "./#express",
  "start/koa": "./#koa",
  "start/fastify": "./#fastify",
  "start/hono": "./#hono",
  "start/nestjs": "./#nestjs",
  "start/node": "./#nodejs",
  "start/fetch": "./#fetch-handlers",
  "start/mcp": "./#mcp-servers",
  "guides/providers": "../providers/#identity-providers",
  "guides/tenants": "conditions#tenants-owners-and-step-up",
  "guides/edit-only-my-own": "conditions#what-your-handlers-check",
  "guides/serverless": "fetch-hosts#cold-starts-and-frozen-processes",
  "guides/swagger-ui": "openapi#serve-swagger-ui",
  "guides/policy-page": "ci#the-policy-page",
  "guides/proxy-tokens": "../providers/#tokens-in-other-header-fields",
  "migrate/express-jwt": "./#express-jwt-and-koa-jwt",
  "migrate/koa-jwt": "./#express-jwt-and-koa-jwt",
  "migrate/passport-jwt": "./#passport-jwt",
  "migrate/fastify-jwt": "./#fastifyjwt",
  "migrate/express-oauth2-jwt-bearer": "./#express-oauth2-jwt-bearer",
  "migrate/nestjs-guards": "./#nestjs-guards",
  "migrate/python": "./#a-python-service",
  "guides/uploads": "static-files#uploads",
  "reference/errors": "refusals#responses",
  "understand/decisions": "../reference/server#decisions",
};

/** A page that leads to another one. */
export const redirectTo = (target: string): string =>
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<meta http-equiv="refresh" content="0; url=${target}">
<p><a href="${target}">This page has moved.</a></p>
</html>
`;

interface Item {
  readonly text: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  readonly items: (Item | Group)[];
  readonly collapsed?: boolean;
}

/** A heading of the map that lists pages once more. */
const REPEATED = "Common questions";

/** The title of a page: its first heading. */
export const titleOf = (path: string): string =>
  /^# (.*)$/m.exec(readFileSync(join(ROOT, path), "utf8"))?.[1]?.replaceAll("`", "") ?? path;

/** The headings and links of the map, as the groups and items of a sidebar. A page is called by its title. */
export function sidebarOf(): readonly Group[] {
  const groups: Group[] = [];
  let items: (Item | Group)[] = [];
  for (const line of readFileSync(join(ROOT, MAP), "utf8").split("\n")) {
    const [, level = "", heading = ""] = /^(#{2,3}) (.*)$/.exec(line) ?? [];
    if (level !== "") {
      const group: Group = { text: heading, items: [], ...(level === "###" && { collapsed: true }) };
      (level === "###" ? (groups.at(-1)?.items ?? groups) : groups).push(group);
      items = group.items;
    }
    for (const [, text = "", link = ""] of line.matchAll(/\[([^[\]]+)\]\(([^)]+)\)/g)) {
      const address = resolveLink(MAP, link);
      if (groups.length === 0 || address === undefined) continue;
      const isPage = link.endsWith(".md") && !link.startsWith("../examples/");
      const title = isPage ? titleOf(posix.join(posix.dirname(MAP), link)) : text.replaceAll("`", "");
      items.push({ text: title, link: address });
    }
  }
  return groups.filter(({ text }) => text !== REPEATED);
}
