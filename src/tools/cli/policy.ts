/** The server, the routes and the options that a command works on. */
import {
  createResourceServer,
  parseConfiguration,
  type ResourceServerOptions,
} from "../../complete/index.ts";
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
const BY_SCOPES =
  /^(?:authorization|scopeMappings|defaultScopeMappings|unmappedRoutes|adminScope|impliedScopes|knownScopes|senderConstraint|shadow)$/;

/** With these options, no token is valid. The keys are never fetched. */
const NO_KEYS: ResourceServerOptions = { keys: { jwksUri: "https://keys.invalid/" }, verifyAudience: false };

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
  ...Object.fromEntries(Object.entries(options).filter(([name]) => BY_SCOPES.test(name))),
  ...NO_KEYS,
});

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
        createResourceServer(needsKeys ? options : withoutKeys(options));
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
