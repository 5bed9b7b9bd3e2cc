/** Reads a page as a browser does: its data, its script and its style. */
import type { PageData } from "../../../src/tools/page/page-data.ts";

export interface PageParts {
  readonly data: PageData;
  readonly script: string;
  readonly style: string;
  /** The policy in the document. */
  readonly csp: string;
}

export function partsOf(html: string): PageParts {
  const find = (pattern: RegExp): string => {
    const [, found, ...more] = html.split(pattern);
    if (found === undefined || more.length > 1)
      throw new Error(`The page has not exactly one ${pattern.source}.`);
    return found;
  };
  return {
    data: JSON.parse(find(/<script type="application\/json" id="data">([^]*?)<\/script>/)) as PageData,
    script: find(/<script>([^]*?)<\/script>/),
    style: find(/<style>([^]*?)<\/style>/),
    csp: find(/<meta http-equiv="Content-Security-Policy" content="([^"]*)">/),
  };
}
