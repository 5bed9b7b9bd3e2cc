/** The tables of docs/understand/table.md, as it shows them: rules, requests with their results, and mistakes. */
import { runInNewContext } from "node:vm";
import type { ScopeMappings } from "scopegate";
import type { ResourceServerOptions } from "../support/server.ts";
import { type Block, type Page, tableOf } from "./markdown.ts";

/** The options of a table: `scopeMappings`, and those that decide together with it. */
export type TableOptions = Pick<
  ResourceServerOptions,
  "scopeMappings" | "defaultScopeMappings" | "impliedScopes" | "adminScope"
> & { readonly scopeMappings: ScopeMappings };

/** One request of a page, and how it is answered. */
export interface ShownRequest {
  readonly method: string;
  readonly target: string;
  /** The claims of the token. `exp` is added to those of a token that isn't expired. */
  readonly token: "none" | "expired" | Readonly<Record<string, unknown>>;
  /** `allowed`, a status, or `403 (no rule)`. */
  readonly answer: string;
}

/** A section with one complete table. */
export interface ShownTable {
  readonly name: string;
  readonly options: TableOptions;
  readonly requests: readonly ShownRequest[];
  /** The same options with the mistake of their author. */
  readonly mistake: TableOptions;
  /** What scopegate says about the mistake, in one line. */
  readonly message: string;
}

/** Reads the sections of a page that begin with a table; each has a heading of the second level. */
export const tablesOf = (page: Page): readonly ShownTable[] =>
  page.text
    .split(/^## /m)
    .slice(1)
    .map((section) => section.split(/^### /m)[0] ?? "")
    .filter((section) => section.includes("\n```ts\n"))
    .map((section) => readTable(section, page.blocks));

function readTable(section: string, blocks: readonly Block[]): ShownTable {
  const name = section.slice(0, section.indexOf("\n"));
  const [table, message, ...others] = blocks.filter(({ code }) => section.includes(`\n${code}`));
  if (!table || message?.language !== "text" || others.length > 0)
    throw new Error(`${name}: expected a table and the message about a mistake.`);
  const options = optionsOf(table.code);
  const paragraph = section.split("\n\n```text\n")[0]?.split("\n\n").at(-1) ?? "";
  return {
    name,
    options,
    requests: tableOf(section, "request").map(readRequest),
    mistake: { ...options, scopeMappings: withMistake(options.scopeMappings, paragraph) },
    message: oneLine(message.code),
  };
}

/** Evaluates `export const name: ScopeMappings = {...};`, or an object of options with `scopeMappings`. */
function optionsOf(code: string): TableOptions {
  const [, literal] = /^export const \w+(?:: ScopeMappings)? = (\{.*^\})[^\n]*;$/ms.exec(code) ?? [];
  if (literal === undefined) throw new Error(`This block exports no object:\n${code}`);
  const value = readObject(literal);
  return "scopeMappings" in value
    ? (value as unknown as TableOptions)
    : { scopeMappings: value, defaultScopeMappings: {} };
}

/** Adds the rules that a paragraph shows as code, and removes those of which it shows only the key. */
function withMistake(scopeMappings: ScopeMappings, paragraph: string): ScopeMappings {
  const codes = codesOf(paragraph);
  const rules = codes.filter((code) => /^"[^"]+": /.test(code));
  if (rules.length === 0) throw new Error(`This paragraph shows no mistake:\n${paragraph}`);
  const others = Object.entries(scopeMappings).filter(([key]) => !codes.includes(key));
  return { ...Object.fromEntries(others), ...readObject(`{ ${rules.join(", ")} }`) };
}

/** Evaluates an object that is written as in TypeScript. */
export const readObject = (literal: string): ScopeMappings =>
  // An object of another realm is not a plain object here.
  JSON.parse(JSON.stringify(runInNewContext(`(${literal})`))) as ScopeMappings;

/** Writes options as in a configuration file. Route keys, scopes and claims have no name in camelCase. */
export const toConfiguration = (options: TableOptions): Readonly<Record<string, unknown>> =>
  JSON.parse(
    JSON.stringify(options).replaceAll(/"[a-z]+(?:[A-Z][a-z]+)+":/g, (name) =>
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ),
  ) as Readonly<Record<string, unknown>>;

/** The texts between backticks. */
export const codesOf = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

function readRequest([request = "", token = "", answer = ""]: readonly string[]): ShownRequest {
  const [method = "", target = ""] = (codesOf(request)[0] ?? "").split(" ");
  const isWord = token === "none" || token === "expired";
  return { method, target, token: isWord ? token : readClaims(token), answer };
}

/** Reads scopes, and other claims as `name=value`. */
function readClaims(cell: string): Readonly<Record<string, unknown>> {
  const codes = codesOf(cell).filter((code) => code !== "scopes: []");
  if (codes.length === 0 && cell !== "`scopes: []`") throw new Error(`${cell} is not a token.`);
  const claims = codes.filter((code) => code.includes("=")).map((code) => code.split("="));
  const scopes = codes.filter((code) => !code.includes("="));
  return { scopes, ...(Object.fromEntries(claims) as Readonly<Record<string, string>>) };
}

/** Pages break long messages into lines. */
export const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, " ");
