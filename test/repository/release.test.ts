import { describe, expect, it } from "vitest";
import { changelogSection, type Release, releaseMistakes } from "../../scripts/release-mistakes.ts";

const MANIFEST = {
  version: "1.2.3",
  repository: { type: "git", url: "git+https://git.test/team/scopegate.git" },
  bugs: { url: "https://git.test/team/scopegate/issues" },
  homepage: "https://docs.test/scopegate/",
  author: "The team",
};
const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.3] - 2026-02-28

### Added

- A thing.

## [1.2.2] - 2026-01-31

- Another thing.
`;
const GOOD: Release = {
  manifest: MANIFEST,
  changelog: CHANGELOG,
  readme: "[Guide](docs/guide.md#start), [folder](docs/), [site](https://docs.test/), [top](#top)",
  hasFile: (path) => ["docs/guide.md", "docs/"].includes(path),
  tag: "v1.2.3",
  publisher: "https://git.test/team/scopegate",
};

const mistakesWith = (change: Partial<Release>): readonly string[] => releaseMistakes({ ...GOOD, ...change });
const withManifest = (change: object) => mistakesWith({ manifest: { ...MANIFEST, ...change } });
const withChangelog = (search: string, replacement: string) =>
  mistakesWith({ changelog: CHANGELOG.replace(search, replacement) });

describe("releaseMistakes", () => {
  it("returns nothing for a version that can be published", () => {
    expect(releaseMistakes(GOOD)).toEqual([]);
    expect(mistakesWith({ publisher: undefined })).toEqual([]);
    expect(mistakesWith({ publisher: "https://git.test/Team/Scopegate" })).toEqual([]);
  });

  it.each(["v1.2.4", "1.2.3", "v1.2.3-beta.1"])("rejects the tag %s for version 1.2.3", (tag) => {
    expect(mistakesWith({ tag })).toEqual([expect.stringContaining("v1.2.3")]);
  });

  it.each([
    undefined,
    "git.test/team/scopegate",
    { type: "git", url: "https://git.test/team/scopegate" },
    { type: "git", url: "git+https://git.example/team/scopegate.git" },
  ])("rejects %j as repository", (repository) => {
    expect(withManifest({ repository })).toEqual([expect.stringContaining("set `repository`")]);
  });

  it("rejects a repository that is not the one that publishes", () => {
    const publisher = "https://git.test/team/fork";
    expect(mistakesWith({ publisher })).toEqual([expect.stringContaining(publisher)]);
  });

  it.each([undefined, {}, { url: "http://git.test/issues" }, { url: "https://git.example/issues" }])(
    "rejects %j as bugs",
    (bugs) => {
      expect(withManifest({ bugs })).toEqual([expect.stringContaining("set `bugs`")]);
    },
  );

  it.each([undefined, "docs.test", "https://docs.example/scopegate/", "https://www.example.com/"])(
    "rejects %j as homepage",
    (homepage) => {
      expect(withManifest({ homepage })).toEqual([expect.stringContaining("set `homepage`")]);
    },
  );

  it.each([undefined, " ", { name: "" }])("rejects %j as author", (author) => {
    expect(withManifest({ author })).toEqual([expect.stringContaining("set `author`")]);
  });

  it.each([
    ["the section is missing", "## [1.2.3]", "## [1.2.4]", "add the heading"],
    ["the date is missing", " - 2026-02-28", "", "write the date"],
    ["the date does not exist", "2026-02-28", "2026-02-30", "write the date"],
    ["the section is empty", "### Added\n\n- A thing.\n", "", "say what changed"],
    ["the heading Unreleased is missing", "## [Unreleased]\n", "", "[Unreleased]"],
    ["changes are not assigned to a version", "## [Unreleased]\n", "## [Unreleased]\n\n- New.\n", "move"],
  ])("rejects the changelog if %s", (_case, search, replacement, fix) => {
    expect(withChangelog(search, replacement)).toEqual([expect.stringContaining(fix)]);
  });

  it.each(["docs/missing.md", "/docs/guide.md", "http://docs.test/"])(
    "rejects a README that links to %s",
    (link) => {
      expect(mistakesWith({ readme: `See [this](${link}).` })).toEqual([expect.stringContaining(link)]);
    },
  );

  it("ignores what looks like a link in code", () => {
    const readme = "`[a](b)`\n\n```js\nconst value = [0](missing);\n```\n";
    expect(mistakesWith({ readme })).toEqual([]);
  });
});

describe("changelogSection", () => {
  it("returns the text of one version only", () => {
    expect(changelogSection(CHANGELOG, "1.2.3")?.text).toBe("### Added\n\n- A thing.");
    expect(changelogSection(CHANGELOG, "1.2")).toBeUndefined();
  });
});
