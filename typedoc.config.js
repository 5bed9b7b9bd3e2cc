import { defaultScopeMappings } from "./src/policy/default-scope-mappings.ts";
import tsup from "./tsup.config.ts";

/** Members of types without a name: what holds them documents them. */
const MEMBERS_OF_LITERALS = [
  ...["verificationKeys", "jwks", "jwksFile"].map((name) => `index.KeySource.__type.${name}`),
  ...["anyOf", "filtered"].map((name) => `index.Requirement.__type.${name}`),
  ...["header", "cookie"].map((name) => `index.TokenSource.__type.${name}`),
  ...["kind", "route", "rule", "rules"].map((name) => `index.AuditFinding.__type.${name}`),
  ...Object.entries(defaultScopeMappings).flatMap(([key, value]) => [
    `index.defaultScopeMappings.__type.${key}`,
    ...("filtered" in value ? [`index.defaultScopeMappings.__type.${key}.__type.filtered`] : []),
  ]),
  ...["express.ExpressRequest", "node.NodeServerRequest"].flatMap((name) => [
    `adapters/${name}.headers.__type.authorization`,
    `adapters/${name}.headers.__type.cookie`,
  ]),
  "adapters/express.ExpressRequest.app.__type.enabled",
  "adapters/fastify.FastifyInstance.initialConfig.__type.routerOptions",
  "adapters/fastify.FastifyRequest.routeOptions.__type.url",
];

/** The API reference: every entry of the package, every public name documented. */
export default {
  name: "scopegate",
  entryPoints: Object.values(tsup.entry),
  out: "docs/api",
  readme: "none",
  tsconfig: "tsconfig.json",
  excludeInternal: true,
  excludePrivate: true,
  gitRevision: "main",
  disableSources: true,
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, notDocumented: true, unusedMergeModuleWith: true },
  intentionallyNotDocumented: MEMBERS_OF_LITERALS,
  // What the types of frameworks have in common, and the list behind a type.
  intentionallyNotExported: ["ALGORITHMS", "NodeRequest", "RouterOptions"],
  requiredToBeDocumented: [
    "Enum",
    "EnumMember",
    "Variable",
    "Function",
    "Class",
    "Interface",
    "Property",
    "Method",
    "Accessor",
    "TypeAlias",
  ],
};
