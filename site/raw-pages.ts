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
  const pages = files.flatMap((path) => {
    const address = path === "README.md" ? "readme.md" : addressOf(path);
    if (address === undefined || path.startsWith("site/")) return [];
    return [{ path, address }];
  });
  const addresses = new Map(pages.map(({ path, address }) => [path, address]));
  const lines = pages.map(({ path, address }) => `- [${titleOf(path)}](${address})`);
  return [
    ["llms.txt", `${INTRODUCTION}\n${lines.join("\n")}\n`],
    ...pages.map(({ path, address }) => [address, withAddresses(path, address, addresses)] as const),
  ];
}

/** Lets the links of a page lead to the other files. Links to what isn't on the site lose their target. */
function withAddresses(path: string, address: string, addresses: ReadonlyMap<string, string>): string {
  const text = readFileSync(join(ROOT, path), "utf8");
  return text.replaceAll(
    /\[([^[\]]*)\]\((?!https?:|#)([^()#]+)(#[^()]*)?\)/g,
    (_, words: string, link: string, anchor = "") => {
      const target = addresses.get(posix.join(posix.dirname(path), link));
      return target === undefined
        ? words
        : `[${words}](${posix.relative(posix.dirname(address), target)}${anchor})`;
    },
  );
}
