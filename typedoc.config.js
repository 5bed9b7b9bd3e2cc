import { defaultScopeMappings } from "./src/policy/default-scope-mappings.ts";
import tsup from "./tsup.config.ts";

/** Properties of unnamed types: the property that holds them is documented. */
const MEMBERS_OF_LITERALS = [
  ...["verificationKeys", "jwks"].map((name) => `index.KeySource.__type.${name}`),
  ...["anyOf", "filtered"].map((name) => `index.Requirement.__type.${name}`),
  ...["header", "cookie"].map((name) => `index.TokenSource.__type.${name}`),
  ...["kind", "route", "rule", "rules"].map((name) => `index.AuditFinding.__type.${name}`),
  ...Object.entries(defaultScopeMappings).flatMap(([key, value]) => [
    `index.defaultScopeMappings.__type.${key}`,
    ...("filtered" in value ? [`index.defaultScopeMappings.__type.${key}.__type.filtered`] : []),
  ]),
  "adapters/koa.KoaContext.app.__type.context",
  ...[
    "KoaLayer.opts.__type.end",
    "KoaLayer.opts.__type.pathAsRegExp",
    "KoaRouter.opts.__type.routerPath",
  ].map((name) => `adapters/koa.${name}`),
  "adapters/fastify.FastifyRequest.routeOptions.__type.url",
  "adapters/fastify.FastifyReply.raw.__type.once",
  ...["conn.__type.request", "handshake.__type.auth", "nsp.__type.name"].map(
    (name) => `adapters/socketio.SocketIoSocket.${name}`,
  ),
  ...["raw", "path"].map((name) => `adapters/hono.HonoContext.req.__type.${name}`),
  "adapters/trpc.TrpcContextOptions.info.__type.calls.__type.path",
  "adapters/trpc.TrpcRouter._def.__type.lazy.__type.load",
  ...["time", "reason"].map((name) => `index.KeySourceStatus.lastFailure.__type.${name}`),
];

/** The API reference of every entry point; a public name without documentation is an error. */
export default {
  name: "scopegate",
  entryPoints: Object.values(tsup.entry).filter((file) => file !== tsup.entry.cli),
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
  // The common part of the adapters' types, and the array behind a type.
  intentionallyNotExported: ["ALGORITHMS", "NodeRequest", "NoOptions", "Next", "Done", "Params"],
  // Comments of Node.js link to names that are not part of this reference.
  externalSymbolLinkMappings: { "@types/node": { "*": "#" } },
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
