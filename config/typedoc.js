import { Converter, ReflectionKind } from "typedoc";
import tsup from "../tsup.config.ts";

/** The name that a program imports, by the name that typedoc takes from the file. */
const IMPORTED = new Map(
  Object.entries(tsup.entry).map(([name, file]) => [
    file.replace(/^src\/|(?:\/index)?\.ts$/g, ""),
    name === "index" ? "scopegate" : `scopegate/${name}`,
  ]),
);

/** Names each module as it is imported. */
const nameModules = ({ converter }) =>
  converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (reflection.kindOf(ReflectionKind.Module))
      reflection.name = IMPORTED.get(reflection.name) ?? reflection.name;
  });

/** The API reference of every entry point, as Markdown for the documentation site. */
export default {
  name: "scopegate",
  entryPoints: Object.values(tsup.entry)
    .filter((file) => file !== tsup.entry.cli)
    .map((file) => `../${file}`),
  out: "../docs/api",
  plugin: ["typedoc-plugin-markdown", nameModules],
  // One page for each entry point.
  router: "module",
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  sanitizeComments: true,
  // Its links count anchors in another way than a browser.
  useHTMLAnchors: true,
  readme: "none",
  tsconfig: "../tsconfig.json",
  excludeInternal: true,
  excludePrivate: true,
  gitRevision: "main",
  disableSources: true,
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  // test/documentation/documentation.test.ts checks that every public name is documented. The types that only
  // public types are made of are in config/api-report/internal.md.
  validation: { notExported: false, invalidLink: true, unusedMergeModuleWith: true },
  // Comments of Node.js link to names that are not part of this reference.
  externalSymbolLinkMappings: { "@types/node": { "*": "#" } },
};
