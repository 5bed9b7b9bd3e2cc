/** The table of results, which `RESULTS.md` shows. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Tally } from "./service.ts";

type Row = readonly [
  fault: string,
  /** The responses to requests with a token. */
  responses: string,
  tally?: Pick<Tally, "wronglyAccepted" | "wronglyRefused" | "latestMs" | "requests">,
];

const rows: Row[] = [];

export const addRow = (...row: Row): void => void rows.push(row);

const PAGE = new URL("RESULTS.md", import.meta.url);
const HEAD = ["fault", "responses", "requests", "wrongly accepted", "wrongly refused", "latest, ms"];

/** Prints the table, or with `SCOPEGATE_WRITE=1` writes it to its page. */
export function finishResults(): void {
  const cells = rows.map(([fault, responses, tally]) => [
    fault,
    responses,
    ...(tally
      ? [tally.requests, tally.wronglyAccepted, tally.wronglyRefused, Math.round(tally.latestMs)]
      : ["-", "-", "-", "-"]
    ).map((value) => value.toLocaleString("en")),
  ]);
  const table = [HEAD, HEAD.map(() => "---"), ...cells].map((line) => `| ${line.join(" | ")} |`).join("\n");
  console.log(`\n${table}\n`);
  if (process.env["SCOPEGATE_WRITE"] !== "1") return;
  const page = readFileSync(PAGE, "utf8");
  const start = page.indexOf("| fault ");
  writeFileSync(PAGE, `${start < 0 ? page : page.slice(0, start)}${table}\n`);
}
