/** The page of the documentation that lists the vulnerabilities. */
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { GROUPS } from "./records/index.ts";
import type { Group, Vulnerability } from "./records/vulnerability.ts";

export const PAGE = fileURLToPath(new URL("../../../docs/reference/vulnerabilities.md", import.meta.url));

const INTRODUCTION = `# Vulnerabilities of other packages

This page lists vulnerabilities of other packages, and what the same attack does to scopegate. Each row has a test in \`test/security/vulnerabilities/\`, or for \`.rsc\` in \`test/runtimes/\`. "No protected handler runs" means: unless the token has the scopes of the handler's rule. "With \`protect\` first" means: before the handler in question.

The list isn't complete, and says nothing about current versions. Keep packages up to date: scopegate doesn't protect what they do on their own ([limits](../understand/security.md)).
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
