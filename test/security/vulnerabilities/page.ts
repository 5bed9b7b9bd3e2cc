/** The page of the documentation that lists the vulnerabilities. */
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { GROUPS } from "./records/index.ts";
import type { Group, Vulnerability } from "./records/vulnerability.ts";

export const PAGE = fileURLToPath(new URL("../../../docs/reference/vulnerabilities.md", import.meta.url));

const INTRODUCTION = `# Vulnerabilities of other packages

This page lists vulnerabilities that were published for routers, token libraries, gateways and MCP servers, and what happens if someone tries the same attack on scopegate.

Each row has one test, whose name contains the identifier. Most tests attack real servers. They are in \`test/security/vulnerabilities/\`, except the one for \`.rsc\` addresses in Next.js, which is in \`test/runtimes/\`. "Reaches no protected handler" means that the handler doesn't run unless the token has the scopes of its rule. \`npm run docs:vulnerabilities\` writes this page from the data of the tests.

This page is not a list of all attacks, and not a proof that scopegate has no vulnerabilities. It says nothing about the current versions of these packages. If you use one of them, keep it up to date, because scopegate doesn't protect what a package does on its own. [Security](../understand/security.md) lists what scopegate promises, and its limits, and [SECURITY](../../SECURITY.md) says how to report a vulnerability.
`;

const renderRow = ({ ids, packageName, happened, here, source }: Vulnerability): string => {
  const [first, ...more] = ids;
  return `| ${[`[${first}](${source})`, ...more].join(", ")} | ${packageName} | ${happened} | ${here} |`;
};

const renderGroup = ({ title, vulnerabilities }: Group): string =>
  [
    `## ${title}`,
    "",
    "| identifier | package | what happened | what happens here |",
    "| --- | --- | --- | --- |",
    ...vulnerabilities.map(renderRow),
    "",
  ].join("\n");

/** Renders the page, in the format of the repository. */
export async function renderPage(): Promise<string> {
  const options = await resolveConfig(PAGE);
  return format([INTRODUCTION, ...GROUPS.map(renderGroup)].join("\n"), { ...options, filepath: PAGE });
}
