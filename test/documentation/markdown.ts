/** The pages of the documentation, parsed into headings, links and code blocks. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, slugOf } from "../../site/pages.ts";

export { ROOT };

export interface Block {
  readonly page: string;
  readonly line: number;
  /** The first word behind the fence. */
  readonly language: string;
  readonly code: string;
  /** The heading of the second level above the block. Blocks below one heading belong together. */
  readonly section: string;
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** The text without code blocks. */
  readonly prose: string;
  readonly blocks: readonly Block[];
  /** The anchors of its headings. */
  readonly anchors: ReadonlySet<string>;
  /** The targets of links and pictures. */
  readonly links: readonly string[];
}

const FENCED = /^( *)```(\w*)(?: [^\n]*)?\n(.*?)^\1```$/gms;

const inFolder = (folder: string, options: { readonly recursive: boolean }): readonly string[] =>
  readdirSync(join(ROOT, folder), { ...options, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => join(folder, file))
    .sort();

export function pageOf(path: string): Page {
  const page = pages.find((one) => one.path === path);
  if (!page) throw new Error(`There is no page ${path}.`);
  return page;
}

/** The text below a heading, up to the next heading of its level or above. */
export function sectionOf({ path, text }: Page, heading: string): string {
  const [, level = "", body = ""] =
    new RegExp(`^(#+) ${heading.replaceAll(/[^\w ]/g, "\\$&")}\\n(.*)`, "ms").exec(text) ?? [];
  if (level === "") throw new Error(`${path} has no section ${heading}.`);
  return body.split(new RegExp(`^#{1,${level.length}} `, "m"))[0] ?? "";
}

/** The rows of all tables of a text, as arrays of cells. */
export const rowsOf = (text: string): readonly (readonly string[])[] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) =>
    row.split(/(?<!\\)\|/).map((cell) => cell.trim()),
  );

/** The rows of one table of a text, without its head: the table whose first column has this title. */
export function tableOf(text: string, title: string): readonly (readonly string[])[] {
  const table = text.split(/\n{2,}/).find((paragraph) => rowsOf(paragraph)[0]?.[0] === title);
  if (table === undefined) throw new Error(`There is no table of ${title}.`);
  return rowsOf(table).slice(2);
}

/** The items of all lists of a text that begin with a name in code, as this name and the rest of the line. */
export const itemsOf = (text: string): readonly (readonly [string, string])[] =>
  [...text.matchAll(/^ *- `([^`]+)`(.*)$/gm)].map(([, name = "", rest = ""]) => [name, rest]);

/** The rows of all tables with the responses to the requests of a page. */
export const responsesOf = ({ text }: Page): readonly (readonly string[])[] =>
  text
    .split(/\n{2,}/)
    .map(rowsOf)
    .filter(([head]) => head?.join() === "request,token,response")
    .flatMap((rows) => rows.slice(2));

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), "utf8");
  const blocks = [...text.matchAll(FENCED)].map(({ index, 2: language = "", 3: code = "" }): Block => {
    const above = text.slice(0, index).replaceAll(FENCED, "");
    const section = [...above.matchAll(/^## (.*)$/gm)].at(-1)?.[1] ?? "";
    return { page: path, line: text.slice(0, index).split("\n").length, language, code, section };
  });
  const prose = text.replaceAll(FENCED, "");
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => slugOf(heading));
  const links = [...prose.replaceAll(/`[^`\n]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = ""]) => to);
  return { path, text, prose, blocks, anchors: new Set(withNumbers(headings)), links };
}

/** GitHub numbers the anchors of equal headings. */
const withNumbers = (slugs: readonly string[]): readonly string[] =>
  slugs.map((slug, index) => {
    const before = slugs.slice(0, index).filter((one) => one === slug).length;
    return before === 0 ? slug : `${slug}-${before}`;
  });

/** All pages without the generated reference. */
export const pages: readonly Page[] = [
  ...inFolder(".", { recursive: false }),
  "examples/README.md",
  ...inFolder("docs", { recursive: true }).filter((path) => !path.startsWith("docs/api/")),
].map(readPage);
