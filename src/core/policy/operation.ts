/** Operations of the Model Context Protocol: keys of the table without a path, as `MCP tools/call search`. */
import { orUndefined, suggest } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { templatesOf } from "./requirement.ts";
import { divideRestrictions, type Restrictions, toRestriction } from "./restrictions.ts";
import type { CompiledRule, RuleMatch } from "./rule.ts";

/** One operation that a request calls. */
export interface Operation {
  /** The JSON-RPC method, and after it the name of a tool, prompt or resource: `tools/call search`. */
  readonly text: string;
  /** The arguments, for the templates of scopes and for `where`: only strings fill them. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The methods that clients call, in the revisions 2025-03-26 to 2026-07-28, and whether a name follows. */
const METHODS: ReadonlyMap<string, boolean> = new Map([
  ["tools/list", false],
  ["tools/call", true],
  ["prompts/list", false],
  ["prompts/get", true],
  ["resources/list", false],
  ["resources/templates/list", false],
  ["resources/read", true],
  ["resources/subscribe", true],
  ["resources/unsubscribe", true],
  ["subscriptions/listen", false],
  ["completion/complete", true],
  ["logging/setLevel", false],
  ["tasks/list", false],
  ["tasks/get", false],
  ["tasks/result", false],
  ["tasks/update", false],
  ["tasks/cancel", false],
]);

const HOUSEKEEPING = /^(?:initialize|server\/discover|ping|notifications\/\S*)$/;

/** Returns whether a method only keeps the protocol running: the rule of the transport decides it. */
export const isHousekeeping = (method: string): boolean => HOUSEKEEPING.test(method);

/** Returns whether a name follows the method of an operation; `undefined` for an unknown method. */
export const isNamed = (method: string): boolean | undefined => METHODS.get(method);

/** Returns whether an operation has arguments, which fill the templates of scopes. */
export const hasArguments = (text: string): boolean => /^(?:tools\/call|prompts\/get) /.test(text);

/** Returns whether a request is for an operation. A path begins with a slash or a scheme. */
export const isOperation = (method: string, target: string): boolean =>
  method === OPERATION_METHOD && /^(?!https?:)[a-z]/i.test(target);

export const methodOf = (text: string): string => text.split(" ", 1)[0] ?? "";

/**
 * Writes the URI of a resource in one spelling: that of the URL standard, and without needless escapes (RFC
 * 3986 section 6.2.2). Servers of the SDK look a resource up by `new URL(uri).href`. Compared as it was sent,
 * `DOCS://x` would be decided by the rule of every resource, and read `docs://x`.
 */
export function canonicalOf(text: string): string {
  const [, prefix = "", uri = ""] = /^(resources\/\w+ )([^]+)$/.exec(text) ?? [];
  if (prefix === "" || uri === "*") return text;
  return prefix + (orUndefined(() => new URL(uri).href) ?? uri).replace(/%[\da-f]{2}/gi, decodeNeedless);
}

/** Decodes an escape of a character that needs none. */
const decodeNeedless = (escape: string): string => {
  const character = String.fromCharCode(parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
};

const FORM = "Write `MCP <method> <name>`, such as `MCP tools/call search`, or `*` for every name.";

/** Explains why a key is not a valid operation, and what to write instead. */
export function findOperationMistake(
  text: string,
): { readonly message: string; readonly hint: string } | undefined {
  const method = methodOf(text);
  const name = text === method ? undefined : text.slice(method.length + 1);
  const needsName = isNamed(method);
  if (isHousekeeping(method))
    return {
      message: `\`${method}\` needs no rule of its own.`,
      hint: "Remove it: the rule of the transport, such as `* /mcp`, decides it.",
    };
  if (needsName === undefined)
    return { message: `\`${method}\` is not a method of MCP clients.`, hint: suggestOperation(text, name) };
  if (!needsName && name !== undefined)
    return { message: `\`${method}\` takes no name.`, hint: `Write \`MCP ${method}\`.` };
  if (needsName && (name === undefined || name === ""))
    return {
      message: `\`${method}\` needs a name.`,
      hint: `Write \`MCP ${method} *\` for every name, or one name.`,
    };
  if (name === undefined || name === "*") return undefined;
  if (name.trim() !== name || /[\p{Cc}*]/u.test(name))
    return {
      message: `${JSON.stringify(name)} is not a name.`,
      hint: "Write the whole name without `*`, or `*` alone for every name.",
    };
  return undefined;
}

/** Returns the fix for a key with wrong separators or a misspelled method. */
function suggestOperation(text: string, name: string | undefined): string {
  const methods = [...METHODS.keys()];
  const misseparated = methods.find(
    (method) => isNamed(method) && new RegExp(`^${method.replace("/", "[ ./:]")}[./: ]`).test(text),
  );
  if (misseparated !== undefined)
    return `Write \`MCP ${misseparated} ${text.slice(misseparated.length + 1)}\`.`;
  const candidates = methods.filter((method) => isNamed(method) === (name !== undefined));
  return suggest(methodOf(text), candidates, FORM);
}

/** The rules of an operation with the values of their templates, or an argument that cannot fill one. */
export type OperationMatch =
  | {
      readonly kind: "matched";
      readonly matches: readonly RuleMatch[];
      readonly restrictions: Restrictions;
    }
  | { readonly kind: "unusable"; readonly argument: string }
  | { readonly kind: "unmapped" };

/** The rules of operations, compared exactly: names are not paths. Only a URI has several spellings. */
export class OperationRules {
  readonly #rules: ReadonlyMap<string, CompiledRule>;
  readonly #enforcedRules: ReadonlyMap<string, CompiledRule>;

  /** `enforcedRules` is the table without its report-only rules. */
  constructor(rules: readonly CompiledRule[], enforcedRules: readonly CompiledRule[]) {
    this.#rules = byOperation(rules);
    this.#enforcedRules = byOperation(enforcedRules);
  }

  /** Finds the rule of an operation: the rule of its name before the rule of every name. */
  find(text: string, rules = this.#rules): CompiledRule | undefined {
    return rules.get(canonicalOf(text)) ?? rules.get(`${methodOf(text)} *`);
  }

  /** Finds the rules with the values for their templates. An argument must be a string that is not empty. */
  match({ text, parameters }: Operation): OperationMatch {
    const compiled = this.find(text);
    if (!compiled) return { kind: "unmapped" };
    const enforced = compiled.isReport ? this.find(text, this.#enforcedRules) : undefined;
    const rules = enforced ? [compiled, enforced] : [compiled];
    const conditioned = this.conditionedRules(text);
    // Read once: later code may change the arguments.
    const values = new Map<string, string>();
    const read = (argument: string): boolean => {
      // Own properties only: a polluted prototype must not fill a scope.
      const value = Object.hasOwn(parameters, argument) ? parameters[argument] : undefined;
      if (typeof value !== "string" || value === "") return false;
      values.set(argument, value);
      return true;
    };
    const unusable = rules.flatMap(({ requirement }) => templatesOf(requirement)).find((name) => !read(name));
    if (unusable !== undefined) return { kind: "unusable", argument: unusable };
    for (const argument of conditioned.flatMap(({ conditions }) => conditions?.parameters ?? []))
      read(argument);
    const parameter = (name: string): string => values.get(name) ?? "";
    const toMatch = (rule: CompiledRule): RuleMatch => ({ compiled: rule, parameter });
    const matches = rules.map(toMatch);
    const restrictions = divideRestrictions(
      conditioned.flatMap((rule) => toRestriction(toMatch(rule), values)),
      matches,
    );
    return { kind: "matched", matches, restrictions };
  }

  /** Returns the rules with conditions for an operation: that of its name, and that of every name. */
  conditionedRules(text: string): readonly CompiledRule[] {
    const keys = new Set([canonicalOf(text), `${methodOf(text)} *`]);
    return [...keys].flatMap((key) => {
      const rule = this.#rules.get(key);
      const enforced = !rule || rule.isReport ? this.#enforcedRules.get(key) : undefined;
      return [rule, enforced].filter((candidate) => candidate?.conditions !== undefined) as CompiledRule[];
    });
  }
}

const byOperation = (rules: readonly CompiledRule[]): ReadonlyMap<string, CompiledRule> =>
  new Map(
    rules
      .filter(({ rule }) => rule.method === OPERATION_METHOD)
      .map((compiled) => [compiled.rule.pattern, compiled]),
  );
