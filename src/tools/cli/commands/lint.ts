import { findCatchAlls } from "../../audit/catch-all.ts";
import { findInTable } from "../../audit/table-findings.ts";
import { describeBaseTable } from "../../shared/base-table.ts";
import { findOneSided } from "../../audit/vocabulary.ts";
import { orUndefined, ConfigurationError, type ConfigurationIssue } from "../../../core/errors.ts";
import { isSymmetric } from "../../../core/keys/algorithm.ts";
import { toJsonIssue, toJsonText } from "../../../complete/configuration.ts";
import {
  type ResourceServerOptions,
  type TrustedIssuer,
  withCapabilities,
} from "../../../complete/create.ts";
import { listedIssuers } from "../../../core/options/resolve-issuers.ts";
import { resolveOptions } from "../../../core/options/resolve.ts";
import { pipelineOf } from "../../../core/port.ts";
import type { ResourceServer } from "../../../core/resource-server.ts";
import { tokenHeadersOf } from "../../../core/token/credential.ts";
import type { IssuerConfiguration } from "../../../core/token/issuer-directory.ts";
import { issuersOf } from "../../shared/issuers.ts";
import type { Command } from "../command.ts";
import { isTableAlone, POLICY_OPTIONS, readOptions, readPolicy, withoutKeys } from "../policy.ts";
import { compileRequiredClaims } from "../../../core/token/required-claims.ts";

export const lint: Command = {
  name: "lint",
  summary: "List every mistake in a configuration with its fix, and what would make it safer.",
  words: [],
  options: { ...POLICY_OPTIONS, warnings: { text: "treat warnings as findings" } },
  examples: [
    ["--config scopegate.json", "Checks a configuration, or only scope mappings. It needs no keys."],
    ["--app ./server.js", "Checks the server that the module exports."],
  ],
  async run(input) {
    const config = input.text("config");
    const [{ issues, warnings, notes }] = await input.all(async () =>
      config === undefined ? checkServer((await readPolicy(input)).server) : checkFile(config),
    );
    const errors = issues.map((issue) => new ConfigurationError([issue]).message);
    const lines = [
      ...errors.map((error) => `error ${error}`),
      ...warnings.map((warning) => `warning ${warning}`),
      ...notes.map((note) => `note ${note}`),
    ];
    const isFinding = errors.length > 0 || (input.has("warnings") && warnings.length > 0);
    const text = lines.length > 0 ? lines.join("\n") : "The configuration has no mistakes.";
    return { isFinding, data: { issues, warnings, notes }, text };
  },
};

interface Checked {
  readonly issues: readonly ConfigurationIssue[];
  readonly warnings: readonly string[];
  /** What must be true, but can't be checked in a configuration. */
  readonly notes: readonly string[];
}

function checkFile(file: string): Checked {
  let warnings: readonly string[] = [];
  let notes: readonly string[] = [];
  try {
    const options = readOptions(file);
    const hasKeys = options.keys ?? options.verificationKeys ?? options.issuers;
    // Also found if a key file is absent.
    const table = orUndefined(() => resolveOptions(withCapabilities(withoutKeys(options))));
    // If the file has only scope mappings, the options for tokens are elsewhere.
    const checked = isTableAlone(options) ? { ...options, issuers: [] } : options;
    warnings = findWarnings(checked, table).map(toJsonText);
    notes = [...tokenHeadersOf(options.tokenSources ?? []).map(describeTokenHeader), ...baseTableOf(table)];
    resolveOptions(withCapabilities(hasKeys ? options : withoutKeys(options)));
    return { issues: [], warnings, notes };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const issues = error.issues.map(toJsonIssue);
    // A pipeline may check a configuration without its key file.
    const isAbsent = ({ code }: ConfigurationIssue) => code === "key_file_unreadable";
    const absent = issues.filter(isAbsent).map((issue) => new ConfigurationError([issue]).message);
    return { issues: issues.filter((issue) => !isAbsent(issue)), warnings: [...warnings, ...absent], notes };
  }
}

/** Checks a server in code, whose options have no mistakes, because it was created. */
function checkServer(server: ResourceServer): Checked {
  const { policy, rules } = pipelineOf(server);
  const { authorization, unmappedRoutes, scopeRules } = policy.rules;
  const { adminScope, implied } = scopeRules;
  const impliedScopes = Object.fromEntries(implied);
  const issuers = issuersOf(server).map(toTrustedIssuer);
  const options = { authorization, unmappedRoutes, adminScope, impliedScopes, issuers };
  const notes = [
    ...tokenHeadersOf(rules.tokenSources).map(describeTokenHeader),
    ...baseTableOf(policy.rules),
  ];
  return { issues: [], warnings: findWarnings(options, policy.rules), notes };
}

function toTrustedIssuer({ keys, token, principal: { scopeSources } }: IssuerConfiguration): TrustedIssuer {
  const { source, discovery } = keys.status();
  const isJwksUri = discovery === undefined && /^https?:/.test(source);
  const verifyAudience = token.audience !== undefined;
  return {
    ...token,
    scopeSources,
    verifyAudience,
    keys: isJwksUri ? { jwksUri: source } : {},
  } as TrustedIssuer;
}

/** The note on the base table, if the table has no mistakes. */
const baseTableOf = (rules: Parameters<typeof describeBaseTable>[0] | undefined): readonly string[] =>
  [rules && describeBaseTable(rules)].filter((note) => note !== undefined);

/** Without such a proxy, a client could send a token that it got elsewhere, and act as its user. */
const describeTokenHeader = (name: string): string =>
  `\`${name}\` must come from a reverse proxy. The proxy must remove the field from client requests, and no client may reach the service without the proxy.`;

/** Finds valid settings that are rarely right. */
function findWarnings(
  options: ResourceServerOptions,
  table: Parameters<typeof findInTable>[0] | undefined,
): readonly string[] {
  const warnings: string[] = [];
  const listed = listedIssuers<Partial<TrustedIssuer>>(options.issuers);
  if (options.authorization === false)
    warnings.push("authorization is false: no scope is checked. Remove it.");
  if (options.unmappedRoutes === "authenticated")
    warnings.push("`unmappedRoutes` accepts any valid token on routes without a rule. Remove it.");
  for (const issuer of options.issuers ? listed : [{}])
    // What an issuer sets replaces what the server sets for all issuers.
    for (const warning of findTokenWarnings({ ...options, ...issuer }))
      warnings.push(issuer.issuer === undefined ? warning : `${issuer.issuer}: ${warning}`);
  if (!table) return warnings;
  for (const { kind, message, hint, severity } of [...findCatchAlls(table.rules, {}), ...findInTable(table)])
    if (severity !== "note") warnings.push(`${kind}: ${message} ${hint}`);
  for (const { message, hint } of findOneSided({ ...options, issuers: listed }, table))
    warnings.push(`${message} ${hint}`);
  return warnings;
}

function findTokenWarnings(options: ResourceServerOptions): readonly string[] {
  const { requiredClaims = [], algorithm, algorithms = [algorithm ?? "RS256"], keys = {} } = options;
  const warnings: string[] = [];
  const needsExpiry = compileRequiredClaims(requiredClaims).some(({ name }) => name === "exp");
  if (options.maxTokenAgeSeconds === undefined && !needsExpiry)
    warnings.push('a token without `exp` never expires. Write `requiredClaims: ["exp"]`.');
  if (options.verifyAudience === false)
    warnings.push(
      "`verifyAudience` is false: tokens for other services are accepted. Set `serviceId` instead.",
    );
  // The same keys often also sign tokens of other tenants, as the keys of `common` in Microsoft Entra do.
  if ("jwksUri" in keys && options.issuer === undefined)
    warnings.push(
      "the issuer of a token isn't checked: with `jwksUri` alone, tokens of every issuer that shares these keys are accepted. Set `issuer`.",
    );
  if (algorithms.some(isSymmetric))
    warnings.push("with HS*, every service that checks a token can sign one too. Use RS256 or ES256.");
  if ((options.clockToleranceSeconds ?? 0) > 300)
    warnings.push("`clockToleranceSeconds` accepts tokens long after they expire. Set 60 or less.");
  return warnings;
}
