import { findClosest } from "./runtime/closest.ts";

/** Why a token was rejected: the `rejection` of a refusal whose reason is `token_rejected`. */
export type Rejection =
  | "malformed"
  | "too_large"
  | "algorithm"
  | "key"
  | "signature"
  | "expired"
  | "not_yet_valid"
  | "issuer"
  | "audience"
  | "type"
  | "claims"
  | "revoked";

/** The kinds of configuration mistakes. Stable: tests and tools may compare them. */
export type ConfigurationIssueCode =
  | "option_unknown"
  | "option_invalid"
  | "option_missing"
  | "option_conflict"
  | "algorithms_mixed"
  | "key_invalid"
  | "key_private"
  | "key_weak"
  | "key_unusable"
  | "key_file_unreadable"
  | "scope_invalid"
  | "scope_unknown"
  | "implied_scopes_cycle"
  | "route_key_invalid"
  | "route_pattern_invalid"
  | "route_duplicate"
  | "route_ambiguous"
  | "route_unreachable"
  | "rule_outranked"
  | "rules_cross"
  | "override_partial"
  | "requirement_invalid"
  | "condition_invalid"
  | "condition_conflict"
  | "exception_missing"
  | "exception_unknown";

/** One mistake in the options: what was found, where, and how to fix it. */
export interface ConfigurationIssue {
  /** The kind of mistake. Stable. */
  readonly code: ConfigurationIssueCode;
  /** The path in the options object: property names and array indexes. */
  readonly path: readonly (string | number)[];
  /** What was found. Never contains a secret or a key. */
  readonly message: string;
  /** How to fix it. */
  readonly hint: string;
}

/** Collects a mistake, so that one error can list all of them. */
export type Report = (issue: ConfigurationIssue) => void;

/**
 * Makes `instanceof` work for errors from another copy of this package, because a project may load two
 * versions or bundle one. Subclasses keep the usual check of the prototype.
 */
export function brand(constructor: abstract new (...values: never[]) => Error, name: string): void {
  const mark = Symbol.for(`scopegate.${name}`);
  Object.defineProperty(constructor.prototype, mark, { value: true });
  Object.defineProperty(constructor, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== constructor) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === "object" && value !== null && mark in value;
    },
  });
}

/** Thrown at construction when the options are wrong. Lists all mistakes; its message has the first 50. */
export class ConfigurationError extends Error {
  static {
    brand(this, "ConfigurationError");
  }

  /** The name of the class. */
  override readonly name = "ConfigurationError";
  /** The error code. Stable. */
  readonly code = "configuration_invalid";
  /** All mistakes. */
  readonly issues: readonly ConfigurationIssue[];

  constructor(issues: readonly ConfigurationIssue[]) {
    const shown = issues.slice(0, 50).map(renderIssue);
    const more = issues.length - shown.length;
    super([...shown, ...(more > 0 ? [`${more} more mistakes: see \`issues\`.`] : [])].join("\n"));
    this.issues = Object.freeze([...issues]);
  }
}

/** Thrown by `authenticate` for a rejected token. The message is fixed and never quotes the token. */
export class TokenRejectedError extends Error {
  static {
    brand(this, "TokenRejectedError");
  }

  /** The name of the class. */
  override readonly name = "TokenRejectedError";
  /** The error code. Stable. */
  readonly code = "token_rejected";
  /** Why the token was rejected. */
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(`The access token was rejected: ${rejection}.`);
    this.rejection = rejection;
  }
}

/**
 * Thrown by `authenticate` if a token's keys are unavailable or `isRevoked` failed. For `ready` and
 * `refreshKeys`, the message lists every failed source. `cause` is for logs and is never sent to a client.
 */
export class KeysUnavailableError extends Error {
  static {
    brand(this, "KeysUnavailableError");
  }

  /** The name of the class. */
  override readonly name = "KeysUnavailableError";
  /** The error code. Stable. */
  readonly code = "keys_unavailable";

  constructor(cause?: unknown, message = "The access token cannot be checked at the moment.") {
    super(message, { cause });
  }
}

/** Finds the word that is most similar to a misspelled one. */
export const findSimilar = (word: string, words: readonly string[]): string | undefined =>
  findClosest(word, words, Math.max(2, Math.floor(word.length / 3)));

/** Returns `Did you mean ...?` for a misspelled word, or `otherwise` if no word is similar. */
export function suggest(word: string, words: readonly string[], otherwise: string): string {
  const similar = findSimilar(word, words);
  return similar === undefined ? otherwise : `Did you mean \`${similar}\`?`;
}

/** Returns the result of `run`, or `undefined` if it throws: many platform functions throw on bad input. */
export function orUndefined<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

function renderIssue({ path: [first = "options", ...rest], message, hint }: ConfigurationIssue): string {
  const steps = rest.map((step) =>
    typeof step === "string" && /^\w+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`,
  );
  return `${first}${steps.join("")}: ${message} ${hint}`;
}
