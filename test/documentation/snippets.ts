/** The code blocks of pages and of comments in `src`, each as a file of its own. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Block, pages, ROOT } from "./markdown.ts";

/** The files that the programs of the pages serve. */
const SERVED = {
  "public/index.html": "<!doctype html>\n<title>Agents</title>\n",
  "public/app.js": "console.log(1);\n",
  "manuals/web.txt": "The manual of web.\n",
};

/** Inside the project, so that a snippet finds the packages that it imports. */
export const FOLDER = join(ROOT, "test/.snippets");

export interface Snippet {
  /** The page or file, and the line. */
  readonly name: string;
  readonly file: string;
  readonly code: string;
  /** Absent for an example in a comment. */
  readonly block?: Block;
}

export const snippets: readonly Snippet[] = pages
  .flatMap(({ blocks }) => blocks)
  .filter(({ language }) => language === "ts" || language === "js")
  .map((block) => {
    const { page, line, code, language } = block;
    const name = `${page}:${line}`;
    const extension = language === "ts" ? "ts" : "mjs";
    return { name, file: join(FOLDER, `${name.replaceAll(/[/.:]/g, "-")}.${extension}`), code, block };
  });

export const examples: readonly Snippet[] = readdirSync(join(ROOT, "src"), {
  recursive: true,
  encoding: "utf8",
})
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => {
    const comments = readFileSync(join(ROOT, "src", file), "utf8").replaceAll(/^ *\* ?/gm, "");
    return [...comments.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""], index) => {
      const name = `src-${file.replaceAll(/[/.]/g, "-")}-${index + 1}`;
      return { name, file: join(FOLDER, `${name}.ts`), code };
    });
  });

/** How a snippet is tested. */
export type Role = "server" | "fetch" | "configuration" | "test" | "program";

export function roleOf({ code }: Snippet): Role {
  if (/from "(?:node:test|vitest)"/.test(code)) return "test";
  // A program that asserts its own answers has no requests below it.
  if (/\.listen\(|^serve\(\{/m.test(code) && !code.includes('"node:assert/strict"')) return "server";
  const entry = /^export default \{\s*fetch|^export const GET = |^export async function (?:proxy|handle)\b/m;
  if (entry.test(code)) return "fetch";
  return /^export const /m.test(code) ? "configuration" : "program";
}

/** Modules of the reader that blocks import: each is the block of the same page that exports this name. */
const MODULES = {
  "@/lib/server": /^export const server = /m,
  "./events.js": /^export const receive = /m,
  "./service.mts": /^export const server = /m,
};

function resolveModules({ code, block }: Snippet): string {
  return Object.entries(MODULES).reduce((text, [name, exported]) => {
    const module = snippets.find((other) => other.block?.page === block?.page && exported.test(other.code));
    return text.replace(`"${name}"`, `"./${basename(module?.file ?? "")}"`);
  }, code);
}

export function writeSnippets(): void {
  mkdirSync(FOLDER, { recursive: true });
  // A snippet must be a module even if it imports nothing.
  for (const snippet of [...snippets, ...examples])
    writeFileSync(snippet.file, `${resolveModules(snippet)}\nexport {};\n`);
  for (const [name, text] of Object.entries(SERVED)) {
    mkdirSync(dirname(join(FOLDER, name)), { recursive: true });
    writeFileSync(join(FOLDER, name), text);
  }
}

export const removeSnippets = (): void => rmSync(FOLDER, { recursive: true, force: true });
