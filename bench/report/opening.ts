/** The first lines of the summary: what scopegate and other libraries cost. */
import { medianOf } from "../compare.ts";
import { formatNumber } from "../print.ts";
import { table } from "./markdown.ts";
import { NO_AUTH, OURS, REFERENCE } from "../servers/in-process.ts";
import { ONE_TOKEN } from "../servers/loads.ts";
import { WITHOUT_PARAMETER } from "../servers/route.ts";
import { MCP_SERVERS } from "../servers/server-process.ts";
import { CACHED, FIRST } from "../verify-names.ts";
import type { StoredResult } from "./results.ts";

/** What a library adds to a request, in microseconds of CPU time. */
export interface AddedCost {
  readonly framework: string;
  readonly name: string;
  readonly us: number;
}

const LEFT_OUT = [NO_AUTH, REFERENCE, WITHOUT_PARAMETER];

/** Returns what each library adds to the same server without authentication, for the load of one token. */
export function addedCosts({ rows }: StoredResult): readonly AddedCost[] {
  const ofLoad = rows.flatMap((row) => {
    const [framework = "", load] = row.group.split(", ");
    const isOfMcp = MCP_SERVERS.some((kind) => kind === framework);
    return load === ONE_TOKEN && !isOfMcp ? [{ framework, name: row.name, us: row.value }] : [];
  });
  return ofLoad.flatMap(({ framework, name, us }) => {
    const base = ofLoad.find((row) => row.framework === framework && row.name === NO_AUTH);
    return !base || LEFT_OUT.includes(name) ? [] : [{ framework, name, us: us - base.us }];
  });
}

/** What each framework's own library and scopegate add, in one table. */
export function renderAdded(added: readonly AddedCost[]): string {
  const lines = added.map(({ framework, name, us }) => [framework, name, formatNumber(us)]);
  return table(["framework", "library", "added"], lines);
}

/** Three sentences: a request, a verification, and when and where they were measured. */
export function renderOpening(requests: StoredResult, verify: StoredResult): string {
  const added = addedCosts(requests);
  const ours = added.filter(({ name }) => name === OURS).map(({ us }) => us);
  const others = added.filter(({ name }) => name !== OURS).map(({ us }) => us);
  const [least, most] = [Math.min(...others), Math.max(...others)].map(formatNumber);
  const [first, cached, jose] = [FIRST, CACHED, "jose"].map((name) => findRow(verify, "RS256", name));
  const { date, node, cores, cpu, os, arch } = requests;
  return [
    `scopegate adds ${formatNumber(medianOf(ours))} microseconds of CPU time to a request whose token it has accepted before (median of ${ours.length} frameworks). Other libraries add ${least} to ${most}.`,
    `The first verification of an RS256 token takes ${formatNumber(first?.value ?? Number.NaN)} microseconds (${formatNumber(jose?.value ?? Number.NaN)} with jose alone), and a later one of the same token ${formatNumber(cached?.value ?? Number.NaN)}.`,
    `Measured on ${date} with Node.js ${node.slice(1)} and ${cores} cores of ${cpu} (${os}, ${arch}). Requests don't call your identity provider: the server [keeps its keys](../understand/tokens-and-keys.md#keys-of-an-issuer).`,
  ].join("\n");
}

function findRow({ rows, name: benchmark }: StoredResult, group: string, name: string) {
  const row = rows.find((candidate) => candidate.group.startsWith(group) && candidate.name === name);
  if (!row) throw new Error(`The results of ${benchmark} have no row \`${name}\` in \`${group}\`.`);
  return row;
}
