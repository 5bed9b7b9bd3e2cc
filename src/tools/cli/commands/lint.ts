import { findCatchAlls } from "../../audit/catch-all.ts";
import { findInTable } from "../../audit/table-findings.ts";
import { findOneSided } from "../../audit/vocabulary.ts";
import { orUndefined, ConfigurationError, type ConfigurationIssue } from "../../../core/errors.ts";
import { isSymmetric } from "../../../core/keys/algorithm.ts";
import { toJsonIssue } from "../../../core/options/configuration.ts";
import type { ResourceServerOptions } from "../../../core/options/options.ts";
import { resolveOptions } from "../../../core/options/resolve.ts";
import type { TrustedIssuer } from "../../../core/options/trusted-issuer.ts";
import { findReportOnly } from "../../../core/policy/report-only.ts";
import { tokenHeadersOf } from "../../../core/token/credential.ts";
import type { Command } from "../command.ts";
import { readOptions, withoutKeys } from "../policy.ts";
import { compileRequiredClaims } from "../../../core/token/required-claims.ts";

export const lint: Command = {
  name: "lint",
  summary: "List every mistake in a configuration with its fix, and what would make it safer.",
  words: ["FILE"],
  options: { warnings: { text: "treat warnings as findings" } },
  examples: [
    ["scopegate.json", "Checks a configuration, or a file with only scope mappings. It needs no keys."],
  ],
  async run(input) {
    const [{ issues, warnings, notes }] = await input.all(() => check(input.words[0] ?? ""));
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

function check(file: string): Checked {
  const warnings: string[] = [];
  const notes: string[] = [];
  try {
    const options = readOptions(file);
    const hasKeys = options.keys ?? options.verificationKeys ?? options.issuers;
    warnings.push(...WARNINGS.filter(({ applies }) => applies(options)).map(({ text }) => text));
    notes.push(...tokenHeadersOf(options.tokenSources ?? []).map(describeTokenHeader));
    // If the file has only scope mappings, the options for tokens are elsewhere.
    if (Object.keys(options).some((name) => name !== "scopeMappings"))
      for (const issuer of options.issuers ?? [{}]) warnings.push(...warningsFor(options, issuer));
    // Also found if a key file is absent.
    const table = orUndefined(() => resolveOptions(withoutKeys(options)));
    const findings = table
      ? [
          ...findCatchAlls(table.rules, {}),
          ...findReportOnly(table),
          ...findInTable(table),
          ...findOneSided(options, table),
        ]
      : [];
    for (const { message, hint, severity } of findings)
      if (severity !== "note") warnings.push(`${message} ${hint}`);
    resolveOptions(hasKeys ? options : withoutKeys(options));
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

/** Without such a proxy, a client could send a token that it got elsewhere, and act as its user. */
const describeTokenHeader = (name: string): string =>
  `\`${name}\` must come from a reverse proxy. The proxy must remove the field from client requests, and no client may reach the service without the proxy.`;

interface Warning {
  readonly applies: (options: ResourceServerOptions) => boolean;
  readonly text: string;
}

/** Valid options that are rarely right. */
const WARNINGS: readonly Warning[] = [
  {
    applies: ({ authorization }) => authorization === false,
    text: "authorization is false: no scope is checked. Remove it.",
  },
  {
    applies: ({ unmappedRoutes }) => unmappedRoutes === "authenticated",
    text: "unmapped_routes accepts any valid token on routes without a rule. Remove it.",
  },
];
const TOKEN_WARNINGS: readonly Warning[] = [
  {
    applies: ({ maxTokenAgeSeconds, requiredClaims = [] }) =>
      maxTokenAgeSeconds === undefined &&
      !compileRequiredClaims(requiredClaims).some(({ name }) => name === "exp"),
    text: 'a token without `exp` never expires. Write "required_claims": ["exp"].',
  },
  {
    applies: ({ verifyAudience }) => verifyAudience === false,
    text: "verify_audience is false: tokens for other services are accepted. Set service_id instead.",
  },
  {
    // The same keys often also sign tokens of other tenants, as the keys of `common` in Microsoft Entra do.
    applies: ({ keys, issuer }) => keys !== undefined && "jwksUri" in keys && issuer === undefined,
    text: 'the issuer of a token isn\'t checked: with `jwks_uri` alone, tokens of every issuer that shares these keys are accepted. Write "issuer".',
  },
  {
    applies: ({ algorithm, algorithms = [] }) => [algorithm ?? [], algorithms].flat().some(isSymmetric),
    text: "with HS*, every service that checks a token can sign one too. Use RS256 or ES256.",
  },
  {
    applies: ({ clockToleranceSeconds = 0 }) => clockToleranceSeconds > 300,
    text: "clock_tolerance_seconds accepts tokens long after they expire. Write 60 or less.",
  },
];

const warningsFor = (options: ResourceServerOptions, issuer: Partial<TrustedIssuer>): readonly string[] =>
  TOKEN_WARNINGS.filter(({ applies }) => applies({ ...options, ...issuer })).map(
    ({ text }) => `${issuer.issuer === undefined ? "" : `${issuer.issuer}: `}${text}`,
  );
