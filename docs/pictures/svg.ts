/** The shapes of the pictures; they follow the reader's color scheme. */

const STYLE = `
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .small { font-size: 13px; fill: #59636e }
  .bold { font-weight: bold }
  .box { fill: #f6f8fa; stroke: #d1d9e0 }
  .good { fill: #dafbe1; stroke: #1a7f37 }
  .bad { fill: #ffebe9; stroke: #cf222e }
  .line { stroke: #59636e; stroke-width: 1.5; fill: none }
  .tip { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 }
    .box { fill: #151b23; stroke: #3d444d } .good { fill: #12261e; stroke: #3fb950 } .bad { fill: #25171c; stroke: #f85149 }
    .line { stroke: #9198a1 } .tip { fill: #9198a1 }
  }`;

export interface Place {
  readonly x: number;
  readonly y: number;
}

export const text = (content: string, { x, y }: Place, classes = "", anchor = "start"): string =>
  `<text x="${x}" y="${y}" class="${classes}" text-anchor="${anchor}">${escape(content)}</text>`;

export const box = (kind: "box" | "good" | "bad", { x, y }: Place, width: number, height: number): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="5" class="${kind}"/>`;

const line = (from: Place, to: Place, classes = "line"): string =>
  `<line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" class="${classes}"/>`;

/** A line with an arrowhead. */
export function arrow(from: Place, to: Place): string {
  const isDown = from.x === to.x;
  const wings = isDown ? "l-4,-7 l8,0 z" : "l-7,-4 l0,8 z";
  return `${line(from, to)}<path d="M${to.x},${to.y} ${wings}" class="tip"/>`;
}

export function picture(title: string, width: number, height: number, shapes: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    ...shapes,
    "</svg>\n",
  ].join("\n");
}

const escape = (content: string): string =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
