/** What the options about tokens mean together: algorithms, audience and keys. */
import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type Algorithm, isSymmetric } from "../keys/algorithm.ts";
import { type KeyEvent } from "../keys/key-event.ts";
import { createKeyResolver, type KeySource } from "../keys/key-source.ts";
import { type KeyResolver } from "../keys/verification-key.ts";
import { notify } from "../notify.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";

export function resolveAlgorithms(
  options: ResourceServerOptions,
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
      path: ["algorithms"],
      message: "mixes HS* with asymmetric algorithms.",
      hint: "Allow one kind: with both, a public key could be used as a secret (RFC 8725 section 2.1).",
    });
    return undefined;
  }
  return [...algorithms];
}

/** `verifyAudience` without an audience would accept the tokens of every other service of the issuer. */
export function resolveAudience(
  options: ResourceServerOptions,
  report: Report,
): readonly string[] | undefined {
  if (options.verifyAudience === false) return undefined;
  const audience = options.audience ?? options.serviceId;
  if (audience !== undefined) return typeof audience === "string" ? [audience] : [...audience];
  report({
    code: "option_missing",
    path: ["serviceId"],
    message: "is missing, and `verifyAudience` needs it.",
    hint: "Write the `aud` of this service's tokens, or `verifyAudience: false` to accept tokens meant for others.",
  });
  return undefined;
}

export function resolveKeys(
  options: ResourceServerOptions,
  algorithms: readonly Algorithm[],
  report: Report,
): KeyResolver | undefined {
  const { keys, verificationKeys } = options;
  if (keys && verificationKeys) {
    report(conflict("verificationKeys", "keys"));
    return undefined;
  }
  const source: KeySource | undefined = keys ?? (verificationKeys && { verificationKeys });
  if (!source) {
    report({
      code: "option_missing",
      path: ["verificationKeys"],
      message: "is missing.",
      hint: "Give the keys that tokens are verified with, as `verificationKeys` or `keys`.",
    });
    return undefined;
  }
  const onKeyEvent = options.onKeyEvent ?? warn;
  return createKeyResolver(source, algorithms, keys ? ["keys"] : [], report, (event) =>
    notify(onKeyEvent, event),
  );
}

/** A key source that fails must be seen by someone, even where nobody asked to be told. */
function warn({ type, source, message }: KeyEvent): void {
  if (type === "failed")
    process.emitWarning(`Keys of ${source}: ${message ?? "failed."}`, "ScopegateWarning");
}

const conflict = (
  name: keyof ResourceServerOptions,
  other: keyof ResourceServerOptions,
): ConfigurationIssue => ({
  code: "option_conflict",
  path: [name],
  message: `stands beside \`${other}\`.`,
  hint: "Give one of the two.",
});
