import { closestMatch } from "leven";

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

/** The kinds of configuration mistakes; stable, so that tests and tools may compare them. */
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
  | "implied_scopes_cycle"
  | "route_key_invalid"
  | "route_method_unknown"
  | "route_pattern_invalid"
  | "route_duplicate"
  | "route_ambiguous"
  | "route_unreachable"
  | "requirement_invalid"
  | "template_unknown";

/** One mistake in a configuration: what was found, where, and what to write instead. */
export interface ConfigurationIssue {
  /** What kind of mistake it is; stable. */
  readonly code: ConfigurationIssueCode;
  /** Where it stands, as keys and indexes from the options object down. */
  readonly path: readonly (string | number)[];
  /** What was found. Never holds a secret or a key. */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
}

/** Receives every mistake, so that one error can list them all. */
export type Report = (issue: ConfigurationIssue) => void;

/**
 * Lets `instanceof` hold for an error of another copy of this package: a project may load two, of two versions or one of
 * them bundled. A class that extends one of these is told by its own instances, as ever.
 */
function brand(errors: abstract new (...given: never[]) => Error, name: string): void {
  const mark = Symbol.for(`scopegate.${name}`);
  Object.defineProperty(errors.prototype, mark, { value: true });
  Object.defineProperty(errors, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== errors) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === "object" && value !== null && mark in value;
    },
  });
}

/** Thrown at construction when the options are wrong. Lists every mistake found, not only the first. */
export class ConfigurationError extends Error {
  static {
    brand(this, "ConfigurationError");
  }

  /** The name of the class. */
  override readonly name = "ConfigurationError";
  /** Stable, so that it may be compared. */
  readonly code = "configuration_invalid";
  /** Every mistake that was found. */
  readonly issues: readonly ConfigurationIssue[];

  constructor(issues: readonly ConfigurationIssue[]) {
    super(issues.map(renderIssue).join("\n"));
    this.issues = Object.freeze([...issues]);
  }
}

/** Thrown by `authenticate` for a token that is not accepted. Its text is fixed and never quotes the token. */
export class TokenRejectedError extends Error {
  static {
    brand(this, "TokenRejectedError");
  }

  /** The name of the class. */
  override readonly name = "TokenRejectedError";
  /** Stable, so that it may be compared. */
  readonly code = "token_rejected";
  /** Why the token was rejected. */
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(`The access token was rejected: ${rejection}.`);
    this.rejection = rejection;
  }
}

/**
 * Thrown by `authenticate` when no answer could be had about a token: its keys, or the answer of `isRevoked`,
 * are missing; and by `ready`, whose message names every source that failed and why. `cause` is for the operator's log;
 * it never reaches a client.
 */
export class KeysUnavailableError extends Error {
  static {
    brand(this, "KeysUnavailableError");
  }

  /** The name of the class. */
  override readonly name = "KeysUnavailableError";
  /** Stable, so that it may be compared. */
  readonly code = "keys_unavailable";

  constructor(cause?: unknown, message = "The access token cannot be checked at the moment.") {
    super(message, { cause });
  }
}

/** Thrown by `orThrow` of an audit report with errors. The message is the report's text. */
export class AuditError extends Error {
  static {
    brand(this, "AuditError");
  }

  /** The name of the class. */
  override readonly name = "AuditError";
  /** Stable, so that it may be compared. */
  readonly code = "audit_failed";
}

/** `Did you mean ...?` for a misspelt word, or `otherwise` where nothing known comes near it. */
export function suggest(word: string, known: readonly string[], otherwise: string): string {
  const nearest = closestMatch(word, [...known], {
    maxDistance: Math.max(2, Math.floor(word.length / 3)),
  });
  return nearest === undefined ? otherwise : `Did you mean \`${nearest}\`?`;
}

/** What a function of the platform returns, or `undefined` where it throws: for input that may well be wrong. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

function renderIssue({ path, message, hint }: ConfigurationIssue): string {
  const [first, ...rest] = path;
  const place = rest.reduce<string>(
    (text, step) =>
      typeof step === "string" && /^\w+$/.test(step) ? `${text}.${step}` : `${text}[${JSON.stringify(step)}]`,
    String(first ?? "options"),
  );
  return `${place}: ${message} ${hint}`;
}
