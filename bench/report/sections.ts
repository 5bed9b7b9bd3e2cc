/** The sections of the page: how the rows of each benchmark are shown. */
import { formatNumber } from "../print.ts";
import { type Place, renderPivot, renderRows, worstRows } from "./markdown.ts";
import type { StoredResult, StoredRow } from "./results.ts";

interface Section {
  readonly title: string;
  readonly text: string;
  readonly render: (rows: readonly StoredRow[]) => string;
}

/** `express, one token, in process` is the framework and the load. */
function placeOfServer({ group, name }: StoredRow): Place {
  const [framework = "", ...load] = group.replace(", in process", "").split(", ");
  return { line: [framework, name], column: load.join(", ") };
}

function placeOfVerification({ group, name }: StoredRow): Place | undefined {
  const [algorithm = "", what = ""] = group.split(", ");
  if (!what.endsWith("bytes")) return undefined;
  return { line: [name], column: algorithm };
}

const placeOfLookup = ({ group, name }: StoredRow): Place => ({ line: [name], column: group });

const withRatio = ({ value, ratio }: StoredRow): string =>
  ratio === undefined ? formatNumber(value) : `${formatNumber(value)} (${formatNumber(ratio)}x)`;

const withP99 = ({ value, p99Ms }: StoredRow): string =>
  p99Ms === undefined ? formatNumber(value) : `${formatNumber(value)} (${formatNumber(p99Ms)})`;

export const SECTIONS: Readonly<Record<string, Section>> = {
  requests: {
    title: "A whole request",
    text: "CPU time in microseconds. In brackets: the ratio to the floor, a minimal token cache written by hand; a difference of a few percent is noise. The floor hashes the token with SHA-256 and looks the hash up in a `Map`. `no auth` is the server without any check. `mcp` is a server of MCP by hand, over Express, and `mcp-sdk` one with the official SDK: their floor also parses the body and looks up the scope of the tool.",
    render: (rows) => renderPivot(rows, ["framework", "library"], placeOfServer, withRatio),
  },
  verify: {
    title: "Verification of a token",
    text: "CPU time in microseconds. In brackets: the ratio to jose alone. `authenticate` verifies the token, `check` also decides by the table, and `crypto.verify` checks only the signature.",
    render: (rows) => renderPivot(rows, ["library"], placeOfVerification, withRatio),
  },
  servers: {
    title: "Servers, over loopback",
    text: "CPU time in microseconds that authentication adds to a request (for `no auth`: the whole request). In brackets: the latency of 99 % of the requests in milliseconds. Ignore small differences, because the kernel's part of a request varies more.",
    render: (rows) => renderPivot(rows, ["framework", "library"], placeOfServer, withP99),
  },
  routes: {
    title: "Lookup of a route",
    text: "CPU time in nanoseconds, by the number of rules. In brackets: the ratio to find-my-way.",
    render: (rows) => renderPivot(rows, ["library"], placeOfLookup, withRatio),
  },
  hostile: {
    title: "Hostile requests",
    text: "The most expensive request of each kind.",
    render: (rows) => renderRows(worstRows(rows)),
  },
  memory: { title: "Memory", text: "", render: renderRows },
  footprint: {
    title: "Loading",
    text: "CPU time and memory of an import in a new process, and the size of a bundle.",
    render: renderRows,
  },
  mcp: { title: "MCP", text: "CPU time of the gate for one call of a tool.", render: renderRows },
  dpop: {
    title: "DPoP",
    text: "CPU time of a request with a proof, and of requests without.",
    render: renderRows,
  },
  revocation: {
    title: "Revocation",
    text: "A check, the load of the store, and several processes.",
    render: renderRows,
  },
};

export function renderSection({ name, rows, date, node, cpu }: StoredResult, figure: string): string {
  const section = SECTIONS[name];
  if (!section) throw new Error(`The page has no section for the benchmark \`${name}\`.`);
  const { title, text, render } = section;
  const measured = `Measured on ${date} with Node.js ${node.slice(1)} on ${cpu}.`;
  return [`## ${title}`, `${text} ${measured}`.trim(), figure, render(rows)]
    .filter((part) => part !== "")
    .join("\n\n");
}
