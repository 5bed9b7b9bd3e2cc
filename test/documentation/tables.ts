/** The tables of a page, as it shows them: rules, requests with their answers, and mistakes with their messages. */
import { runInNewContext } from "node:vm";
import type { ScopeMappings } from "scopegate";
import { type Block, type Page, rowsOf } from "./markdown.ts";

/** One request of a page, and how it is answered. */
export interface ShownRequest {
  readonly method: string;
  readonly target: string;
  readonly isUpgrade: boolean;
  /** The arguments of an MCP operation. */
  readonly params: Readonly<Record<string, string>>;
  readonly token: "none" | "expired" | { readonly scopes: readonly string[] };
  /** `allowed`, a status, or `403 (no rule)`. */
  readonly answer: string;
}

/** A section with one complete table. */
export interface ShownTable {
  readonly name: string;
  readonly scopeMappings: ScopeMappings;
  readonly requests: readonly ShownRequest[];
  readonly mistake: ScopeMappings;
  /** What scopegate says about the mistake, in one line. */
  readonly message: string;
}

/** Reads the tables below a heading of the second level; each has a heading of the third level. */
export function tablesOf(page: Page, heading: string): readonly ShownTable[] {
  const [, body = ""] = page.text.split(`\n## ${heading}\n`);
  const [text = ""] = body.split(/^## /m);
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => readTable(section, page.blocks));
}

function readTable(section: string, blocks: readonly Block[]): ShownTable {
  const name = section.slice(0, section.indexOf("\n"));
  const [table, mistake, message, ...others] = blocks.filter(({ code }) => section.includes(`\n${code}`));
  if (!table || !mistake || message?.language !== "text" || others.length > 0)
    throw new Error(`${name}: expected a table, a mistake and its message.`);
  return {
    name,
    scopeMappings: valueOf(table.code),
    requests: rowsOf(section).slice(2).map(readRequest),
    mistake: valueOf(mistake.code),
    message: oneLine(message.code),
  };
}

/** Evaluates the object of `export const name: ScopeMappings = {...};`. */
function valueOf(code: string): ScopeMappings {
  const [, literal] = /^export const \w+(?:: ScopeMappings)? = (\{.*\});$/ms.exec(code) ?? [];
  if (literal === undefined) throw new Error(`This block exports no object:\n${code}`);
  return readObject(literal);
}

/** Evaluates an object that is written as in TypeScript. */
export const readObject = (literal: string): ScopeMappings =>
  // An object of another realm is not a plain object here.
  JSON.parse(JSON.stringify(runInNewContext(`(${literal})`))) as ScopeMappings;

/** The texts between backticks. */
export const codesOf = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

function readRequest([request = "", token = "", answer = ""]: readonly string[]): ShownRequest {
  const [first = "", ...rest] = (codesOf(request)[0] ?? "").split(" ");
  const isUpgrade = first === "WebSocket";
  const pairs = rest.filter((word) => word.includes("=")).map((word) => word.split("="));
  return {
    method: isUpgrade ? "GET" : first,
    target: rest.filter((word) => !word.includes("=")).join(" "),
    isUpgrade,
    params: Object.fromEntries(pairs) as Readonly<Record<string, string>>,
    token: token === "none" || token === "expired" ? token : { scopes: readScopes(token) },
    answer,
  };
}

function readScopes(cell: string): readonly string[] {
  const scopes = codesOf(cell);
  if (scopes.length === 0 && cell !== "no scopes") throw new Error(`${cell} is not a token.`);
  return scopes;
}

/** Pages break long messages into lines. */
export const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, " ");
