/** Draws the figures of the report as SVG. */
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { formatNumber } from "../print.ts";
import { OURS as OUR_NAME } from "../servers/in-process.ts";
import type { AddedCost } from "./opening.ts";
import type { StoredResult, StoredRow } from "./results.ts";

const OURS = "#1f6feb";
const OTHERS = "#8b949e";

/** Text and axes follow the color scheme of the page. */
const THEMES = `
svg { color: #1f2328 }
@media (prefers-color-scheme: dark) { svg { color: #f0f6fc } }
`;

// The types of both libraries require the types of a browser.
const plot = Plot.plot as unknown as (options: object) => { readonly outerHTML: string };
const parse = parseHTML as unknown as (html: string) => { readonly document: object };

function draw(options: object): string {
  const { document } = parse("<html><body></body></html>");
  const svg = plot({
    document,
    style: { background: "none", fontFamily: "sans-serif", fontSize: "13px" },
    ...options,
  }).outerHTML;
  const standalone = svg.replace(/^<svg(?![^>]* xmlns=)/, '<svg xmlns="http://www.w3.org/2000/svg"');
  return `${standalone.replace("<style>", `<style>${THEMES}`)}\n`;
}

/** Draws a bar for each library: what it adds to a request. */
export function drawAdded(costs: readonly AddedCost[]): string {
  const bars = costs.map((cost) => ({ ...cost, label: `${cost.framework}: ${cost.name}` }));
  return draw({
    width: 620,
    height: 85 + 24 * bars.length,
    marginLeft: 215,
    marginRight: 50,
    marginBottom: 45,
    x: { label: "added CPU time per request, microseconds", grid: true, ticks: 6 },
    y: { domain: bars.map(({ label }) => label), label: null },
    marks: [
      Plot.barX(bars, { x: "us", y: "label", fill: ({ name }: AddedCost) => colorOf(name) }),
      Plot.text(bars, {
        x: ({ us }: AddedCost) => Math.max(0, us),
        y: "label",
        text: ({ us }: AddedCost) => formatNumber(us),
        textAnchor: "start",
        dx: 4,
      }),
      Plot.ruleX([0]),
    ],
  });
}

/** Draws the cost of a lookup in growing tables: a column for hits and one for misses. */
export function drawRoutes({ rows }: StoredResult): string {
  const points = rows.flatMap((row) => {
    const [, kind, size] = /^(\w+), ([\d,]+) mappings$/.exec(row.group) ?? [];
    return size === undefined ? [] : [{ ...row, kind, size: Number(size.replaceAll(",", "")) }];
  });
  const widest = Math.max(...points.map(({ size }) => size));
  const ends = [...new Set(points.map(({ kind }) => kind))].flatMap((kind) =>
    spread(points.filter((point) => point.kind === kind && point.size === widest)),
  );
  const channels = { x: "size", y: "value", fx: "kind" };
  const stroke = (row: StoredRow) => colorOf(row.name);
  return draw({
    width: 620,
    height: 380,
    marginLeft: 80,
    marginBottom: 45,
    x: { type: "log", insetRight: 110, label: "mappings", ticks: [10, 100, 1000, 10_000], tickFormat: "," },
    y: { type: "log", label: "ns per lookup", grid: true, ticks: 5, tickFormat: "," },
    fx: { label: null },
    marks: [
      Plot.line(points, { ...channels, z: "name", stroke, strokeWidth: 2 }),
      Plot.dot(points, { ...channels, fill: stroke }),
      Plot.text(ends, { ...channels, text: "name", textAnchor: "start", dx: 8 }),
    ],
  });
}

/** Moves points apart on the logarithmic scale, so that their labels do not overlap. */
function spread<Point extends { readonly value: number }>(points: readonly Point[]): readonly Point[] {
  let least = 0;
  return points
    .toSorted((a, b) => a.value - b.value)
    .map((point) => {
      const value = Math.max(point.value, least);
      least = value * 1.5;
      return { ...point, value };
    });
}

const colorOf = (name: string): string => (name === OUR_NAME ? OURS : OTHERS);
