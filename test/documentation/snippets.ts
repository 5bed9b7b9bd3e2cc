/** The code blocks of pages and of comments in `src`, each as a file of its own. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import ts from "typescript";
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

/** The programs in `examples/`. */
export const programs: readonly Snippet[] = readdirSync(join(ROOT, "examples"), {
  recursive: true,
  encoding: "utf8",
})
  .filter((file) => /\.m?ts$|\.m?js$/.test(file) && !file.includes("node_modules"))
  .map((file) => ({
    name: join("examples", file),
    file: join(ROOT, "examples", file),
    code: readFileSync(join(ROOT, "examples", file), "utf8"),
  }));

/** Names of what must stay secret, or decides which tokens are accepted. */
const SECRET = /secret|keys?$|_KEY|password|pepper|private/i;

/**
 * Returns where code replaces an absent key or secret: `secret ?? "..."`, `secret || "..."`, a default in a pattern, or
 * either of these in the value of a property or variable with such a name. Readers copy the fallback with the code, and
 * then everyone who knows the page can sign tokens.
 */
export function findFallbacks(code: string): readonly string[] {
  const fallbacks: string[] = [];
  const visit = (node: ts.Node, isInSecret: boolean): void => {
    if (isFallback(node, isInSecret)) fallbacks.push(node.getText());
    const isNamed = ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node);
    const isSecretValue = isInSecret || (isNamed && isSecret(node.name));
    // What a function does isn't its value.
    ts.forEachChild(node, (child) => visit(child, isSecretValue && !ts.isFunctionLike(node)));
  };
  visit(ts.createSourceFile("snippet.ts", code, ts.ScriptTarget.Latest, true), false);
  return fallbacks;
}

function isFallback(node: ts.Node, isInSecret: boolean): boolean {
  if (ts.isBinaryExpression(node))
    return /^(?:\?\?|\|\|)$/.test(node.operatorToken.getText()) && (isInSecret || isSecret(node.left));
  if (!ts.isBindingElement(node) || node.initializer === undefined) return false;
  // An empty array is no key.
  return isSecret(node.propertyName ?? node.name) && node.initializer.getText() !== "[]";
}

const isSecret = (node: ts.Node): boolean => SECRET.test(nameOf(node));

/** The last name of `process.env.JWT_SECRET!`, `env["JWT_SECRET"]` or `secret`; empty for a call. */
function nameOf(node: ts.Node): string {
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node)) return nameOf(node.expression);
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isElementAccessExpression(node)) return nameOf(node.argumentExpression);
  return ts.isIdentifier(node) || ts.isStringLiteralLike(node) ? node.text : "";
}

/** How a snippet is tested. */
export type Role = "server" | "fetch" | "configuration" | "store" | "test" | "program";

export function roleOf({ code }: Snippet): Role {
  if (/from "(?:node:test|vitest)"/.test(code)) return "test";
  // A program that asserts its own answers has no requests below it.
  if (/\.listen\(|^serve\(\{/m.test(code) && !code.includes('"node:assert/strict"')) return "server";
  const entry = /^export default \{\s*fetch|^export const GET = |^export async function (?:proxy|handle)\b/m;
  if (entry.test(code)) return "fetch";
  // It needs a database, so test/cluster runs it.
  if (/^export const store\b|^export async function postgresStore\b/m.test(code)) return "store";
  return /^export const /m.test(code) ? "configuration" : "program";
}

/** Modules of the reader that blocks import: each is the block of the same page and language that exports this name. */
const MODULES = {
  "@/lib/server": /^export const server = /m,
  "./postgres.js": /^export async function postgresStore\b/m,
  "./service.mjs": /^export const server = /m,
  "./service.mts": /^export const server = /m,
};

/** Modules of the reader that are files of `examples/`, if no block of the page shows them. */
const EXAMPLES: Readonly<Record<string, string>> = {
  "./service.mts": "../../examples/complete/service.mts",
};

function resolveModules({ code, block }: Snippet): string {
  const shown = Object.entries(MODULES).flatMap(([name, exported]) => {
    const language = name.endsWith(".mjs") ? "js" : "ts";
    const module = snippets.find(
      (other) =>
        other.block?.page === block?.page && other.block?.language === language && exported.test(other.code),
    );
    return module ? [[name, `./${basename(module.file)}`] as const] : [];
  });
  return Object.entries({ ...EXAMPLES, ...Object.fromEntries(shown) }).reduce(
    (text, [name, file]) => text.replace(`"${name}"`, `"${file}"`),
    code,
  );
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
