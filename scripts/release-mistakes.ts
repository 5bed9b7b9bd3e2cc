/** What must be right before a version is published: a published version cannot be changed. */

export interface Release {
  readonly manifest: {
    readonly version: string;
    readonly repository?: unknown;
    readonly bugs?: unknown;
    readonly homepage?: unknown;
    readonly author?: unknown;
  };
  readonly changelog: string;
  readonly readme: string;
  /** Whether a file or folder is in the repository. */
  readonly hasFile: (path: string) => boolean;
  readonly tag: string;
  /** The address of the repository that publishes, such as `https://git.example/team/scopegate`, if it is known. */
  readonly publisher?: string | undefined;
}

/** Returns every mistake with its fix. */
export const releaseMistakes = (release: Release): readonly string[] => [
  ...tagMistakes(release),
  ...addressMistakes(release),
  ...changelogMistakes(release),
  ...linkMistakes(release),
];

function tagMistakes({ manifest, tag }: Release): readonly string[] {
  const expected = `v${manifest.version}`;
  return tag === expected ? [] : [`The tag is ${tag}, but the version in package.json needs ${expected}.`];
}

function addressMistakes({ manifest, publisher }: Release): readonly string[] {
  const { repository, bugs, homepage, author } = manifest;
  const mistakes: string[] = [];
  const repositoryUrl = urlOf(repository);
  const isGitUrl = /^git\+https:\/\/.+\.git$/.test(repositoryUrl);
  if (!isGitUrl || isPlaceholder(repositoryUrl.slice("git+".length)))
    mistakes.push('package.json: set `repository` to { "type": "git", "url": "git+https://....git" }.');
  // npm refuses to publish with provenance from another repository.
  else if (publisher !== undefined && !isSameAddress(repositoryUrl, publisher))
    mistakes.push(`package.json: \`repository\` is ${repositoryUrl}, but ${publisher} publishes.`);
  if (isPlaceholder(urlOf(bugs)))
    mistakes.push('package.json: set `bugs` to { "url": "https://..." }, where users report problems.');
  if (isPlaceholder(typeof homepage === "string" ? homepage : ""))
    mistakes.push("package.json: set `homepage` to the address of the documentation, with https.");
  if (typeof author !== "string" || author.trim() === "")
    mistakes.push("package.json: set `author` to the name that answers for the package.");
  return mistakes;
}

const urlOf = (value: unknown): string =>
  typeof value === "object" && value !== null && "url" in value && typeof value.url === "string"
    ? value.url
    : "";

/** Whether an address is missing, not for browsers, or one of the examples in CONTRIBUTING.md. */
function isPlaceholder(address: string): boolean {
  if (!URL.canParse(address)) return true;
  const { protocol, hostname } = new URL(address);
  return protocol !== "https:" || /(?:^|\.)example(?:\.(?:com|net|org))?$/.test(hostname);
}

const isSameAddress = (repositoryUrl: string, publisher: string): boolean =>
  repositoryUrl.toLowerCase() === `git+${publisher}.git`.toLowerCase();

function changelogMistakes({ manifest, changelog }: Release): readonly string[] {
  const mistakes: string[] = [];
  const released = changelogSection(changelog, manifest.version);
  if (released === undefined)
    mistakes.push(`CHANGELOG.md: add the heading "## [${manifest.version}] - YYYY-MM-DD".`);
  else if (!isDate(released.rest))
    mistakes.push(`CHANGELOG.md: write the date of ${manifest.version} as "- YYYY-MM-DD".`);
  else if (released.text === "") mistakes.push(`CHANGELOG.md: say what changed in ${manifest.version}.`);
  const unreleased = changelogSection(changelog, "Unreleased");
  if (unreleased === undefined) mistakes.push('CHANGELOG.md: add the empty heading "## [Unreleased]".');
  else if (unreleased.text !== "")
    mistakes.push(`CHANGELOG.md: move what is below "Unreleased" to ${manifest.version}.`);
  return mistakes;
}

interface ChangelogSection {
  /** What follows the name in the heading. */
  readonly rest: string;
  readonly text: string;
}

/** Returns the section of a version, or `undefined` if there is none. */
export function changelogSection(changelog: string, name: string): ChangelogSection | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((candidate) => candidate.startsWith(`[${name}]`));
  if (section === undefined) return undefined;
  const [heading = "", ...lines] = section.split("\n");
  return { rest: heading.slice(`[${name}]`.length), text: lines.join("\n").trim() };
}

function isDate(rest: string): boolean {
  const [, date = ""] = /^ - (\d{4}-\d{2}-\d{2})$/.exec(rest) ?? [];
  const time = Date.parse(date);
  // `Date.parse` reads the 31st of June as the 1st of July.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}

/** The registry resolves relative links of the README against `repository`. */
function linkMistakes({ readme, hasFile }: Release): readonly string[] {
  const prose = readme.replaceAll(/^```.*?^```$/gms, "").replaceAll(/`[^`\n]*`/g, "");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links
    .filter((link) => !/^(?:https:|mailto:|#)/.test(link))
    .filter((link) => link.startsWith("/") || !hasFile(link.split("#")[0] ?? ""))
    .map((link) => `README.md: the link to ${link} leads nowhere on the page of the registry.`);
}
