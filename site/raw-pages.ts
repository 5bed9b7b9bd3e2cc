/** The pages as Markdown, and `llms.txt`, which lists them (llmstxt.org): for programs that read documentation. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { addressOf, ROOT, titleOf } from "./pages.ts";

const INTRODUCTION = `# scopegate

> Authentication and authorization for Node.js services: JWT bearer tokens, and scopes from one table of routes.
`;

/** The address and the content of each file. */
export function rawPages(): readonly (readonly [address: string, text: string])[] {
  const files = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const written = files.filter((path) => !path.startsWith("site/"));
  const pages = written.flatMap((path) => {
    // The site has another first page.
    const address = path === "README.md" ? "readme.md" : addressOf(path);
    return address === undefined ? [] : [{ path, address }];
  });
  const addresses = new Map(pages.map(({ path, address }) => [path, address]));
  const lines = pages.map(({ path, address }) => `- [${titleOf(path)}](${address})`);
  return [
    ["llms.txt", `${INTRODUCTION}\n${lines.join("\n")}\n`],
    ...pages.map(({ path, address }) => [address, withAddresses(path, address, addresses)] as const),
  ];
}

/** A link or a picture: its words, the file, and the anchor. */
const LINK = /!?\[([^[\]]*)\]\((?!https?:|#)([^()#]+)(#[^()]*)?\)/g;

/** Lets the links of a page lead to the other files. Links to what isn't on the site, and pictures, become words. */
function withAddresses(path: string, address: string, addresses: ReadonlyMap<string, string>): string {
  const text = readFileSync(join(ROOT, path), "utf8");
  return text.replaceAll(LINK, (_, words: string, file: string, anchor = "") => {
    const target = addresses.get(posix.join(posix.dirname(path), file));
    return target === undefined
      ? words
      : `[${words}](${posix.relative(posix.dirname(address), target)}${anchor})`;
  });
}
