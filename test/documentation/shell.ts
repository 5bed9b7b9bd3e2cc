/** Parses the shell blocks of a page: the requests that they send, and the answers that the page shows. */
import { commands } from "../../src/tools/cli/commands/index.ts";
import type { Asked } from "../support/http.ts";
import type { Block } from "./markdown.ts";

/** The third cell of a row: `401`, 200 and the body, `500 → 400` for an old and a new program. */
export interface Expected {
  readonly statuses: readonly number[];
  /** `(NestJS: 404)` in a table: the status in this framework, which is written in lower case here. */
  readonly exceptions: ReadonlyMap<string, number>;
  /** The body, if the page shows it: the answer must be the same JSON. */
  readonly body?: unknown;
}

export interface Request {
  readonly text: string;
  readonly asked: Omit<Asked, "token"> & { readonly content?: string };
  /** Whether the request sends the cookies of earlier answers (`-b FILE`), and keeps new ones (`-c FILE`). */
  readonly cookies: { readonly sends: boolean; readonly keeps: boolean };
  readonly expected: Expected;
}

/** A row of a table of responses: the request, the variable with its token, and the response. */
type ResponseRow = readonly string[];

/** Returns what `npx scopegate token` prints for these arguments. */
export type Mint = (args: readonly string[]) => Promise<string>;

/**
 * Parses the requests of some blocks of one page, in order; variables hold tokens. Each request has its response in the
 * next row of the tables of its page, unless the page shows no responses.
 */
export async function requestsOf(
  blocks: readonly Block[],
  mint: Mint,
  rows: readonly ResponseRow[] | "not shown" = [],
): Promise<readonly Request[]> {
  const tokens = new Map<string, string>();
  const requests: Request[] = [];
  const nextRow = rows === "not shown" ? undefined : rows.values();
  for (const { code } of blocks) {
    for (const line of code.replaceAll("\\\n", " ").split("\n")) {
      const [, name, args] = /^(\w+)=\$\(npx scopegate token ?(.*)\)$/.exec(line) ?? [];
      if (name !== undefined) tokens.set(name, await mint(wordsOf(args ?? "")));
      // No program of a page is run with an API key.
      const [, keyName] = /^(\w+)=\$\(npx scopegate key create /.exec(line) ?? [];
      if (keyName !== undefined) tokens.set(keyName, "key");
      if (line.startsWith("curl ")) requests.push(readCurl(line, tokens, nextRow));
      if (/^npx scopegate token .*--dpop/.test(line)) {
        const [, , , ...args] = wordsOf(line); // after `npx scopegate token`
        const printed = await mint(args);
        // The last line is a request with a proof, which the reader sends.
        requests.push(readCurl(printed.split("\n").at(-1) ?? "", tokens, nextRow, "printed"));
      }
    }
  }
  return requests;
}

function readCurl(
  line: string,
  tokens: ReadonlyMap<string, string>,
  rows: Iterator<ResponseRow> | undefined,
  shownToken = variableIn(line),
): Request {
  const filled = line.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const token = tokens.get(name);
    if (token === undefined) throw new Error(`$${name} is not set above ${line}`);
    return token;
  });
  const words = wordsOf(filled).slice(1);
  let method: string | undefined;
  let path: string | undefined;
  let content: string | undefined;
  const headers: (readonly [string, string])[] = [];
  const cookies = { sends: false, keeps: false };
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "-X") method = words.shift();
    else if (word === "-d") content = words.shift() ?? "";
    else if (word === "-b") cookies.sends = words.shift() !== undefined;
    else if (word === "-c") cookies.keeps = words.shift() !== undefined;
    else if (word === "-H") headers.push(readField(words.shift() ?? ""));
    // Port 3001 is a second process of the same program.
    else if (/^http:\/\/localhost:300[01]\//.test(word)) path = word.slice("http://localhost:3000".length);
    else if (!["-i", "-s", "--path-as-is", "--globoff"].includes(word))
      throw new Error(`curl has no ${word}: ${line}`);
  }
  if (path === undefined) throw new Error(`No URL: ${line}`);
  const asked = { method: method ?? (content === undefined ? "GET" : "POST"), path, headers };
  // A row shows a token in the query as the variable that the command has.
  const [, shownPath = path] = /http:\/\/localhost:300[01](\/[^\s"']*)/.exec(line) ?? [];
  return {
    text: line,
    asked: { ...asked, ...(content !== undefined && { content }) },
    cookies,
    expected: rows
      ? readRow(rows, { request: `${asked.method} ${shownPath}`, content, shownToken }, line)
      : { statuses: [], exceptions: new Map() },
  };
}

/** Returns the variable with the token of a command, as a table shows it. */
const variableIn = (line: string): string => {
  const [variable] = /\$\w+/.exec(line) ?? [];
  return variable === undefined ? "" : `\`${variable}\``;
};

function readField(field: string): readonly [string, string] {
  const colon = field.indexOf(":");
  return [field.slice(0, colon), field.slice(colon + 1).trim()];
}

/** Reads the next row, which must be about this request, with or without its content, and this token. */
function readRow(
  rows: Iterator<ResponseRow>,
  asked: { readonly request: string; readonly content: string | undefined; readonly shownToken: string },
  line: string,
): Expected {
  const { request, content, shownToken } = asked;
  const row = (rows.next().value as ResponseRow | undefined) ?? [];
  const [rowRequest = "", rowToken = "", response = ""] = row;
  const requests: readonly string[] = [`\`${request}\``, `\`${request} ${content}\``];
  if (!requests.includes(rowRequest) || rowToken !== shownToken)
    throw new Error(`The next row is ${row.join(" | ") || "missing"}, and the command is ${line}`);
  const [, status, newStatus, rest = ""] = /^(\d{3})(?: → (\d{3}))?(.*)$/.exec(response) ?? [];
  if (status === undefined) throw new Error(`The response of ${row.join(" | ")} has no status.`);
  const body = /^ `([{["][^`]*)`/.exec(rest)?.[1];
  const exceptions = [...rest.matchAll(/\b([A-Z]\w*): (\d{3})\b/g)];
  return {
    statuses: [status, newStatus].filter((text) => text !== undefined).map(Number),
    exceptions: new Map(exceptions.map(([, name = "", code]) => [name.toLowerCase(), Number(code)])),
    ...(body !== undefined && { body: JSON.parse(body) as unknown }),
  };
}

const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => {
    return double ?? single ?? bare ?? "";
  });

/** The commands that a shell block may contain, and whether what they name exists. */
const COMMANDS: readonly (readonly [RegExp, ((named: string, known: KnownNames) => boolean)?])[] = [
  [/^curl /],
  [/^sleep \d$/],
  [/^export ISSUER=http:\/\/localhost:4400$/],
  [/^npx scopegate issuer$/],
  [/^export JWT_PUBLIC_KEY="\$\(npx scopegate token --public-key\)"$/],
  [/^node server\.mjs$/],
  [/^(?:PROXY=nginx )?npx tsx (?:server|standalone|external-authorization)\.mts$/],
  [/^bun server\.mts$/],
  [/^deno serve --port 3000 (?:--allow-\w+ )+server\.mts$/],
  [
    /^npm (?:ci|install|test|start(?: -- \w+)?|owner ls scopegate|audit signatures|sbom --sbom-format cyclonedx)$/,
  ],
  [/^gh attestation verify scopegate-[\d.]+\.tgz --owner OWNER$/],
  // In a project of Next.js or SvelteKit.
  [/^npm run dev(?: -- --port 3000)?$/],
  [
    /^npm install (.+)$/,
    (names, { packages }) => names.split(" ").every((name) => name.startsWith("-") || packages.has(name)),
  ],
  [/^npm (?:ci && npm )?run ([\w:]+)(?: -- .+)?$/, (script, { scripts }) => scripts.has(script)],
  [
    /^(?:cat [\w.]+ \| |\w+=\$\()?npx scopegate (\w+) [^)]+\)?$/,
    (command) => commands.some(({ name }) => name === command),
  ],
  [/^npx vitest run (\S+)$/, (path, { hasPath }) => hasPath(path)],
];

export interface KnownNames {
  readonly packages: ReadonlySet<string>;
  readonly scripts: ReadonlySet<string>;
  readonly hasPath: (path: string) => boolean;
}

/** Whether a command is allowed and what it names exists. A comment would be an argument in some shells. */
export function isCommand(command: string, known: KnownNames): boolean {
  if (command === "") return true;
  return COMMANDS.some(([pattern, exists]) => {
    const match = pattern.exec(command.trim());
    return match !== null && (exists?.(match[1] ?? "", known) ?? true);
  });
}
