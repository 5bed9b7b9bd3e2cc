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

type AudienceOptions = Pick<ResourceServerOptions, "audience" | "serviceId" | "verifyAudience" | "resource">;

/** Returns the expected `aud`; `undefined` if the audience is not verified. */
export function audienceOf(options: AudienceOptions): readonly string[] | undefined {
  const given = options.audience ?? options.serviceId ?? options.resource?.id;
  return options.verifyAudience === false ? undefined : [given ?? []].flat();
}

/** Without an audience, the tokens of every other service of the issuer would be accepted. */
export function resolveAudience(
  options: AudienceOptions,
  path: Path,
  report: Report,
): readonly string[] | undefined {
  const { resource } = options;
  const audience = audienceOf(options) ?? [];
  if (resource && !audience.includes(resource.id))
    // RFC 8707 section 2: clients ask for tokens with this audience.
    report({
      code: "option_conflict",
      path: [...path, "audience"],
      message: "does not contain `resource.id`, which is the audience of the tokens that clients get.",
      hint: `Write ${JSON.stringify(resource.id)} as \`audience\`, or omit \`audience\`, \`serviceId\` and \`verifyAudience\`.`,
    });
  if (options.verifyAudience === false) return undefined;
  if (audience.length > 0) return audience;
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
