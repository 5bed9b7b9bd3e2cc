/** Operations of the Model Context Protocol: keys of the table without a path, as `MCP tools/call search`. */
import { orUndefined, suggest } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { type CompiledRequirement } from "./requirement.ts";
import { type CompiledRule, type RuleMatch } from "./rule.ts";

/** One operation that a request calls. */
export interface Operation {
  /** The JSON-RPC method, and after it the name of a tool, prompt or resource: `tools/call search`. */
  readonly text: string;
  /** The arguments, for the templates of scopes: only strings fill them. */
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
  const named = isNamed(method);
  if (isHousekeeping(method))
    return {
      message: `\`${method}\` needs no rule of its own.`,
      hint: "Remove it: the rule of the transport, such as `* /mcp`, decides it.",
    };
  if (named === undefined)
    return { message: `\`${method}\` is not a method of MCP clients.`, hint: findMethod(text, name) };
  if (!named && name !== undefined)
    return { message: `\`${method}\` takes no name.`, hint: `Write \`MCP ${method}\`.` };
  if (named && (name === undefined || name === ""))
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
function findMethod(text: string, name: string | undefined): string {
  const [found] = [...METHODS.keys()].filter(
    (one) => isNamed(one) && new RegExp(`^${one.replace("/", "[ ./:]")}[./: ]`).test(text),
  );
  if (found !== undefined) return `Write \`MCP ${found} ${text.slice(found.length + 1)}\`.`;
  const known = [...METHODS.keys()].filter((one) => isNamed(one) === (name !== undefined));
  return suggest(methodOf(text), known, FORM);
}

/** A rule, and the arguments that its scopes name. */
interface OperationRule {
  readonly compiled: CompiledRule;
  readonly names: readonly string[];
}

/** The rules of operations, compared exactly: names are not paths. Only a URI has several spellings. */
export class OperationRules {
  readonly #rules = new Map<string, OperationRule>();

  constructor(rules: readonly CompiledRule[]) {
    for (const compiled of rules)
      if (compiled.rule.method === OPERATION_METHOD)
        this.#rules.set(compiled.rule.pattern, { compiled, names: templatesOf(compiled.requirement) });
  }

  /** Finds the rule of an operation: the rule of its name before the rule of every name. */
  find(text: string): CompiledRule | undefined {
    return this.#find(text)?.compiled;
  }

  #find(text: string): OperationRule | undefined {
    return this.#rules.get(canonicalOf(text)) ?? this.#rules.get(`${methodOf(text)} *`);
  }

  /** Finds the rule with the values for its templates, or an argument that is empty or not a string. */
  match({ text, parameters }: Operation): RuleMatch | { readonly unusable: string } | undefined {
    const found = this.#find(text);
    if (!found) return undefined;
    const { compiled, names } = found;
    // Read once: later code may change the arguments.
    const values: string[] = [];
    for (const name of names) {
      // Own properties only: a polluted prototype must not fill a scope.
      const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
      if (typeof value !== "string" || value === "") return { unusable: name };
      values.push(value);
    }
    return { compiled, parameter: (name) => values[names.indexOf(name)] ?? "" };
  }
}

/** Returns the parameters that the scopes of a requirement name. */
export const templatesOf = (requirement: CompiledRequirement): readonly string[] =>
  "scopes" in requirement
    ? requirement.scopes.flatMap(({ parts }) =>
        parts.flatMap((part) => (typeof part === "string" ? [] : [part.parameter])),
      )
    : [];
