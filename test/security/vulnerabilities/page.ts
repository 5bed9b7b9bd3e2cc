/** The list of all vulnerabilities, and the page of the documentation that shows ten of them. */
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { GROUPS } from "./records/index.ts";
import type { Group, Vulnerability } from "./records/vulnerability.ts";

const SUMMARY = fileURLToPath(new URL("../../../docs/reference/vulnerabilities.md", import.meta.url));
const LIST = fileURLToPath(new URL("README.md", import.meta.url));

/** The first identifiers of the rows in the documentation: one for each kind of mistake, in widely used packages. */
const SHOWN = [
  "CVE-2026-22031",
  "CVE-2026-33011",
  "CVE-2025-29927",
  "CVE-2022-22978",
  "CVE-2022-29217",
  "CVE-2025-30144",
  "CVE-2025-62610",
  "CVE-2026-35039",
  "CVE-2026-52869",
  "CVE-2024-45296",
];

const OPENING = `# Vulnerabilities of other packages

The tests repeat published attacks on other packages. These ten show the kinds of mistakes that lead to them, and what the same attack does to scopegate. [The list of all](../../test/security/vulnerabilities/README.md), each with its test, is in the repository. It says nothing about current versions. Keep packages up to date: scopegate doesn't protect what they do on their own ([limits](../understand/security.md)).
`;

const INTRODUCTION = `# Vulnerabilities of other packages

Each row is a vulnerability of another package, and what the same attack does to scopegate. It has a test in this folder, for \`.rsc\` in \`test/runtimes/\`, or where \`testedBy\` in \`records/\` says. "No protected handler runs" means: unless the token has the scopes of the handler's rule. "With \`protect\` first" means: before the handler in question.

The list isn't complete, and says nothing about current versions.
`;

const renderRow = ({ ids, packageName, happened, here, source }: Vulnerability): string => {
  const [first, ...more] = ids;
  return `| ${[`[${first}](${source})`, ...more].join(", ")} | ${packageName} | ${happened} | ${here} |`;
};

const renderTable = (vulnerabilities: readonly Vulnerability[]): string =>
  [
    "| identifier | package | what happened | what happens here |",
    "| --- | --- | --- | --- |",
    ...vulnerabilities.map(renderRow),
    "",
  ].join("\n");

const renderGroup = ({ title, vulnerabilities }: Group): string =>
  `## ${title}\n\n${renderTable(vulnerabilities)}`;

function findVulnerability(id: string): Vulnerability {
  const vulnerability = GROUPS.flatMap(({ vulnerabilities }) => vulnerabilities).find(
    ({ ids }) => ids[0] === id,
  );
  if (!vulnerability) throw new Error(`There is no record of ${id}.`);
  return vulnerability;
}

/** Renders both files, in the format of the repository. */
export async function renderPages(): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const files = [
    { path: SUMMARY, parts: [OPENING, renderTable(SHOWN.map(findVulnerability))] },
    { path: LIST, parts: [INTRODUCTION, ...GROUPS.map(renderGroup)] },
  ];
  return Promise.all(
    files.map(async ({ path, parts }) => {
      const options = await resolveConfig(path);
      return { path, text: await format(parts.join("\n"), { ...options, filepath: path }) };
    }),
  );
}
