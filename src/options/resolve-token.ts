/** Checks the algorithms and the audience of one issuer. */
import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type Algorithm, isSymmetric } from "../keys/algorithm.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";

type Path = readonly (string | number)[];

export function resolveAlgorithms(
  options: Pick<ResourceServerOptions, "algorithm" | "algorithms">,
  path: Path,
  report: Report,
): readonly Algorithm[] | undefined {
  if (options.algorithm && options.algorithms) {
    report(conflict("algorithms", "algorithm"));
    return undefined;
  }
  const algorithms = options.algorithms ?? (options.algorithm ? [options.algorithm] : DEFAULTS.algorithms);
  if (new Set(algorithms.map(isSymmetric)).size > 1) {
    report({
      code: "algorithms_mixed",
      path: [...path, "algorithms"],
      message: "contains HS* and asymmetric algorithms.",
      hint: "Allow one kind: with both, an attacker could use a public key as a secret (RFC 8725 section 2.1).",
    });
    return undefined;
  }
  return [...algorithms];
}

/** Without an audience, the tokens of every other service of the issuer would be accepted. */
export function resolveAudience(
  options: Pick<ResourceServerOptions, "audience" | "serviceId" | "verifyAudience">,
  path: Path,
  report: Report,
): readonly string[] | undefined {
  if (options.verifyAudience === false) return undefined;
  const audience = options.audience ?? options.serviceId;
  if (audience !== undefined) return typeof audience === "string" ? [audience] : [...audience];
  report({
    code: "option_missing",
    path: [...path, path.length === 0 ? "serviceId" : "audience"],
    message: "is missing, but `verifyAudience` needs it.",
    hint: "Write the `aud` of this service's tokens, or `verifyAudience: false` to accept tokens for any service.",
  });
  return undefined;
}

export const conflict = (
  name: keyof ResourceServerOptions,
  other: keyof ResourceServerOptions,
  hint = "Remove one of the two.",
): ConfigurationIssue => ({
  code: "option_conflict",
  path: [name],
  message: `cannot be combined with \`${other}\`.`,
  hint,
});
