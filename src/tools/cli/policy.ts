/** The server, the routes and the options that a command works on. */
import { issuersFrom } from "../../capabilities/issuers/index.ts";
import {
  createResourceServer,
  parseConfiguration,
  type ResourceServerOptions,
  type TrustedIssuer,
} from "../../complete/index.ts";
import { orUndefined } from "../../core/errors.ts";
import { isSymmetric } from "../../core/keys/algorithm.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { countEveryGuard } from "../audit/other-guards.ts";
import { loadApplication } from "./application.ts";
import { type CommandInput, type Option, readAll, UsageError } from "./command.ts";
import { inFile, readJson } from "./files.ts";

export const POLICY_OPTIONS = {
  config: { value: "FILE", text: "the configuration as JSON, or only its scope mappings" },
  app: { value: "MODULE", text: "exports `app` (its routes), `server` (used without --config) or both" },
} satisfies Readonly<Record<string, Option>>;

export interface Policy {
  readonly server: ResourceServer;
  /** The routes of the application; absent without one. */
  readonly routes?: readonly ListedRoute[];
}

/** The options that affect decisions by scopes. */
const BY_SCOPES: ReadonlySet<string> = new Set<keyof ResourceServerOptions>([
  "authorization",
  "scopeMappings",
  "defaultScopeMappings",
  "unmappedRoutes",
  "adminScope",
  "impliedScopes",
  "knownScopes",
  "senderConstraint",
  "shadow",
  "mcp",
]);

/** Never fetched, so no token is valid. */
const NO_KEYS_URL = "https://keys.invalid/";

const NO_KEYS: ResourceServerOptions = { keys: { jwksUri: NO_KEYS_URL }, verifyAudience: false };

/** Reads options. A file whose keys all contain spaces is a table, and gets no base table. */
export function readOptions(path: string): ResourceServerOptions {
  const json = readJson(path);
  const names = Object.keys(json);
  const isTable = names.length > 0 && names.every((name) => name.includes(" "));
  if (!isTable) return parseConfiguration(json);
  const { scopeMappings = {} } = parseConfiguration({ scope_mappings: json, default_scope_mappings: {} });
  return { scopeMappings };
}

/** Reads options and converts them. Every mistake in them names the file. */
export const readConfiguration = <T>(path: string, make: (options: ResourceServerOptions) => T): T =>
  inFile(path, () => make(readOptions(path)));

export const isTableAlone = (options: ResourceServerOptions): boolean =>
  Object.keys(options).every((name) => name === "scopeMappings");

/** Returns the options without keys and issuers, for questions about scopes alone. */
export const withoutKeys = (options: ResourceServerOptions): ResourceServerOptions => ({
  // A table alone doesn't contain `senderConstraint`, but may require tokens that are bound to a key.
  ...(isTableAlone(options) ? { senderConstraint: { mtls: { from: "socket" as const } } } : {}),
  ...Object.fromEntries(Object.entries(options).filter(([name]) => BY_SCOPES.has(name))),
  // Nor does it contain the issuers whose tenants it compares.
  ...(isTableAlone(options) && readsTenants(options) ? UNKNOWN_ISSUERS : NO_KEYS),
});

const UNKNOWN_ISSUERS: ResourceServerOptions = {
  issuers: issuersFrom(() => undefined),
  verifyAudience: false,
};

/** The table isn't checked yet, so any value can be in it. */
const readsTenants = ({ scopeMappings = {} }: ResourceServerOptions): boolean =>
  Object.values(scopeMappings as Readonly<Record<string, unknown>>)
    .flatMap((entry) => Object.values((entry as { where?: object } | null)?.where ?? {}).flat() as unknown[])
    .some((source) => (source as { tenant?: unknown } | null)?.tenant === true);

/** Creates a server for questions without a token: all options decide, except for the keys. */
function createWithoutKeys(options: ResourceServerOptions): ResourceServer {
  // If another option is wrong, only the table counts: `lint` reports the mistake.
  const complete = orUndefined(() => createResourceServer(withOtherKeys(options)));
  return complete ?? createResourceServer(withoutKeys(options));
}

/** Replaces the keys of every issuer by keys of nobody, so that the digest of the policy stays the same. */
function withOtherKeys(options: ResourceServerOptions): ResourceServerOptions {
  const { issuers } = options;
  return Array.isArray(issuers)
    ? { ...options, issuers: issuers.map(withKeysOfNobody) }
    : withKeysOfNobody(options);
}

function withKeysOfNobody(issuer: Partial<TrustedIssuer> & Pick<ResourceServerOptions, "algorithm">) {
  const { algorithm, algorithms = [] } = issuer;
  const isSecret = [algorithm, ...algorithms].some((name) => name !== undefined && isSymmetric(name));
  const others = Object.fromEntries(
    Object.entries(issuer).filter(([name]) => !/^(?:keys|verificationKeys)$/.test(name)),
  ) as unknown as TrustedIssuer;
  const keys = isSecret
    ? { verificationKeys: [crypto.randomUUID() + crypto.randomUUID()] }
    : { keys: { jwksUri: NO_KEYS_URL } };
  return { ...others, ...keys };
}

/** Creates the server of `--config`, or takes that of `--app`. */
export async function readPolicy(input: CommandInput, needsKeys = false): Promise<Policy> {
  const [config, app] = [input.text("config"), input.text("app")];
  if (config === undefined && app === undefined)
    throw new UsageError(
      "No table is given: add --config FILE (a configuration, or only scope mappings) or --app MODULE.",
    );
  const { values, mistakes } = await readAll<[ResourceServer | undefined, Partial<Policy> | undefined]>([
    () => {
      const create = (options: ResourceServerOptions) =>
        needsKeys ? createResourceServer(options) : createWithoutKeys(options);
      return config === undefined ? undefined : readConfiguration(config, create);
    },
    () => (app === undefined ? undefined : loadApplication(app)),
  ]);
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  const [configured, application] = values;
  const server = configured ?? application?.server;
  if (!server)
    throw new UsageError(
      "The module exports no resource server: export it as `server`, or add --config FILE.",
    );
  // The application's guards use its own server, which the configuration replaces.
  if (configured) countEveryGuard(application?.routes ?? []);
  return { ...application, server };
}
