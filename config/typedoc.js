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
  // That every public name is documented is checked by test/documentation/documentation.test.ts.
  validation: { notExported: true, invalidLink: true, unusedMergeModuleWith: true },
  // Types of our own that public types are made of: a reader needs only the public ones.
  intentionallyNotExported: [
    "ALGORITHMS",
    "Acr",
    "Actors",
    "CacheSize",
    "ClaimPath",
    "ClaimSource",
    "ClaimedToken",
    "ConditionName",
    "ConfigurationIssueCode",
    "DiscoverySource",
    "Done",
    "EndReason",
    "Enforcement",
    "ExplainQuery",
    "GrantedUser",
    "HasScopesOptions",
    "HeaderSource",
    "HttpInit",
    "JsonWebKey",
    "JwksFileSource",
    "JwksUriSource",
    "KeyLoadReason",
    "KeyState",
    "KeyUse",
    "McpTableOptions",
    "Next",
    "NoOptions",
    "NodeRequest",
    "OpaqueStatus",
    "Params",
    "Pending",
    "ProofRejection",
    "RefusalBody",
    "RejectedToken",
    "ReportOnlyFinding",
    "RequiredClaims",
    "Resource",
    "ResourceOptions",
    "Result",
    "Revalidation",
    "RouteHandler",
    "RuleSource",
    "Satisfaction",
    "SenderConstraintOptions",
    "TableEntry",
    "TokenBinding",
    "TokenCacheRules",
    "TokenKind",
    "UncheckedToken",
    "UntilExpiryOptions",
    "createHostGate",
  ],
  // Comments of Node.js link to names that are not part of this reference.
  externalSymbolLinkMappings: { "@types/node": { "*": "#" } },
};
