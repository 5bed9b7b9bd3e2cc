/** Reads the trust records that `find` returns. */
import { isCapability } from "../../core/capability.ts";
import { ConfigurationError, type ConfigurationIssue } from "../../core/errors.ts";
import { isSymmetric } from "../../core/keys/algorithm.ts";
import { isPlainObject } from "../../core/options/values.ts";
import type { DirectoryContext } from "../../core/options/options.ts";
import { resolveEntry } from "../../core/options/resolve-issuers.ts";
import { findShapeMistakes } from "../../core/options/schema.ts";
import type { TrustedIssuer } from "../../core/options/trusted-issuer.ts";
import type { KeySourceContext } from "../../core/keys/key-event.ts";
import type { IssuerConfiguration } from "../../core/token/issuer-directory.ts";

/** A record that was checked, or what is wrong with it and how to fix that. */
export type ReadRecord =
  | {
      readonly kind: "record";
      readonly configuration: IssuerConfiguration;
      /** What was written: two equal snapshots are one record. */
      readonly snapshot: unknown;
      /** What has no effect. */
      readonly warning: string | undefined;
    }
  | { readonly kind: "mistake"; readonly message: string };

/** A revocation is kept for this long after its token has expired. */
export const MAX_TOLERANCE_SECONDS = 300;

/** Checks a record by the shapes of the option `issuers`, and by the rules for records that are found. */
export function readRecord(
  written: unknown,
  issuer: string,
  { scopeRules: { adminScope }, options }: DirectoryContext,
  guardFetch: KeySourceContext["guardFetch"],
): ReadRecord {
  // A copy, so that nothing changes between the checks and the use.
  const record = copyOf(written);
  const issues: ConfigurationIssue[] = [];
  // The first two steps are `issuers` and an index, which only lists have.
  const report = ({ path, ...issue }: ConfigurationIssue) =>
    void issues.push({ ...issue, path: ["record", ...path.slice(2)] });
  // The shape of the option `issuers` is also the shape of a record.
  findShapeMistakes({ issuers: [record] }).forEach(report);
  const configuration =
    issues.length === 0
      ? resolveEntry(record as TrustedIssuer, options, AT_RECORD, report, guardFetch)
      : undefined;
  if (configuration) findFurtherMistakes(configuration, issuer).forEach(report);
  if (!configuration || issues.length > 0) {
    configuration?.keys.close();
    return { kind: "mistake", message: new ConfigurationError(issues).message };
  }
  const namesAdmin = adminScope !== null && configuration.ceiling?.includes(adminScope);
  const warning = namesAdmin
    ? "record.scopes: names the admin scope, which no record can grant. Remove it."
    : undefined;
  return { kind: "record", configuration, snapshot: snapshotOf(record), warning };
}

const AT_RECORD = ["issuers", 0] as const;

function findFurtherMistakes(
  { token, ceiling }: IssuerConfiguration,
  issuer: string,
): readonly ConfigurationIssue[] {
  const issues: ConfigurationIssue[] = [];
  if (token.issuer !== issuer)
    issues.push({
      code: "option_invalid",
      path: [...AT_RECORD, "issuer"],
      message: "isn't the `iss` that was asked for.",
      hint: "Compare the `iss` exactly, and return undefined if no issuer has it.",
    });
  if (!ceiling)
    issues.push({
      code: "option_missing",
      path: [...AT_RECORD, "scopes"],
      message: "is missing, but a record needs it.",
      hint: 'Write the scopes that the issuer can grant: ["orgs:read"], or [] for none.',
    });
  if (token.algorithms.some(isSymmetric))
    issues.push({
      code: "option_invalid",
      path: [...AT_RECORD, "algorithms"],
      message: "contains HS*, which a record can't have.",
      hint: "Write the asymmetric algorithms that the issuer signs with, such as RS256.",
    });
  if (token.clockToleranceSeconds > MAX_TOLERANCE_SECONDS)
    issues.push({
      code: "option_invalid",
      path: [...AT_RECORD, "clockToleranceSeconds"],
      message: "is too large for a record.",
      hint: `Write ${MAX_TOLERANCE_SECONDS} or less.`,
    });
  return issues;
}

/** Copies arrays and plain objects. Everything else is used as it is. */
function copyOf(value: unknown): unknown {
  if (isCapability(value)) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value as object).map(([name, property]) => [name, copyOf(property)]),
  );
}

/** Returns a value for `isSame`. Capabilities, such as `remoteKeys(...)`, become what was written in them. */
function snapshotOf(value: unknown): unknown {
  if (isCapability(value)) return [value.option, snapshotOf(copyOf(value.written))];
  if (Array.isArray(value)) return value.map(snapshotOf);
  if (!isPlainObject(value)) return value;
  return new Map(
    Object.entries(value as object).map(([name, property]) => [name, snapshotOf(property)] as const),
  );
}

/** Compares snapshots. Functions and keys of a class are the same only if they are the same object. */
export function isSame(first: unknown, second: unknown): boolean {
  if (Array.isArray(first) && Array.isArray(second))
    return first.length === second.length && first.every((item, index) => isSame(item, second[index]));
  if (first instanceof Map && second instanceof Map)
    return (
      first.size === second.size &&
      [...first].every(([name, property]) => second.has(name) && isSame(property, second.get(name)))
    );
  return Object.is(first, second);
}
