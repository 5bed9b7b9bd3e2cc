/** The methods of the Model Context Protocol that clients call, and those that a server adds. */
import { suggest } from "../../core/errors.ts";
import type { KeyMistake } from "../../core/policy/key-language.ts";

/** A method that clients call. */
export interface OperationMethod {
  /** The parameter of the message that names the tool, prompt or resource; absent if no name follows. */
  readonly nameParameter?: string;
  /** The method whose rules decide this one, which has no rules of its own. */
  readonly governedBy?: string;
}

const NAMELESS: OperationMethod = {};

/** The methods of the revisions 2025-03-26 to 2026-07-28. */
const METHODS: ReadonlyMap<string, OperationMethod> = new Map<string, OperationMethod>([
  ["tools/list", NAMELESS],
  ["tools/call", { nameParameter: "name" }],
  ["prompts/list", NAMELESS],
  ["prompts/get", { nameParameter: "name" }],
  ["resources/list", NAMELESS],
  ["resources/templates/list", NAMELESS],
  ["resources/read", { nameParameter: "uri" }],
  ["resources/subscribe", { nameParameter: "uri", governedBy: "resources/read" }],
  ["resources/unsubscribe", { nameParameter: "uri", governedBy: "resources/read" }],
  ["subscriptions/listen", NAMELESS],
  ["logging/setLevel", NAMELESS],
  ["tasks/list", NAMELESS],
  ["tasks/get", NAMELESS],
  ["tasks/result", NAMELESS],
  ["tasks/update", NAMELESS],
  ["tasks/cancel", NAMELESS],
]);

/** The methods that revision 2026-07-28 has removed. */
const REMOVED: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "tasks/list",
  "tasks/result",
]);

/** Decided by the rules for its prompt or resource template. */
export const COMPLETION = "completion/complete";

const HOUSEKEEPING = /^(?:initialize|server\/discover|ping|notifications\/\S*)$/;

/** Returns whether a method only keeps the protocol running: the transport's rule decides it. */
export const isHousekeeping = (method: string): boolean => HOUSEKEEPING.test(method);

/** The methods that a server adds, each with the parameter that names what it calls, or `null`. */
export type ExtensionMethods = Readonly<Record<string, string | null>>;

/** Returns whether a server may add this method: it looks like one, and the protocol doesn't have it. */
export const isExtensionMethod = (method: string): boolean =>
  /^[a-z][\w.-]*(?:\/[\w.-]+)+$/i.test(method) &&
  !METHODS.has(method) &&
  !method.startsWith("tasks/") &&
  !isHousekeeping(method) &&
  method !== COMPLETION;

/** The methods that a table may have rules for. */
export class OperationMethods {
  readonly #methods: ReadonlyMap<string, OperationMethod>;
  readonly #hasUnknown: boolean;

  /** `"any"` is for tables whose server isn't known: it also accepts methods that a server may declare. */
  constructor(extensions: ExtensionMethods | "any" = {}) {
    this.#hasUnknown = extensions === "any";
    const added = Object.entries(extensions === "any" ? {} : extensions).map(
      ([method, nameParameter]): [string, OperationMethod] => [
        method,
        nameParameter === null ? NAMELESS : { nameParameter },
      ],
    );
    this.#methods = new Map([...added, ...METHODS]);
  }

  get(method: string): OperationMethod | undefined {
    return this.#methods.get(method);
  }

  /** Returns whether a request of revision 2026-07-28 or later can have this method. */
  isStateless(method: string): boolean {
    const isKnown = this.#methods.has(method) || isHousekeeping(method) || method === COMPLETION;
    return isKnown && !REMOVED.has(method);
  }

  /** Returns whether a name follows a method; `undefined` for an unknown method. */
  isNamed(method: string): boolean | undefined {
    const described = this.#methods.get(method);
    if (described === undefined) return undefined;
    return described.nameParameter !== undefined;
  }

  /** Explains why a method and a name aren't the key of a rule, and what to write instead. */
  findMistake(method: string, name: string | undefined): KeyMistake | undefined {
    const described = this.#methods.get(method);
    if (isHousekeeping(method))
      return {
        message: `\`${method}\` needs no rule of its own.`,
        hint: "Remove it: the transport's rule, such as `* /mcp`, decides it.",
      };
    const governing = method === COMPLETION ? "prompts/get` or `resources/read" : described?.governedBy;
    if (governing !== undefined)
      return {
        message: `\`${method}\` has no rule of its own.`,
        hint: `Remove it: the rule for \`${governing}\` with the same name decides it.`,
      };
    if (!described) {
      const similar = this.#suggest(method, name);
      if (this.#hasUnknown && similar === undefined && /^\S[^\s/]*\/\S+$/.test(method)) return undefined;
      return {
        message: `\`${method}\` isn't a method of MCP clients.`,
        hint:
          similar ??
          `${FORM} Declare a method that your server adds: mcp: { methods: { ${JSON.stringify(method)}: null } }, in code mcpOperations({ methods }).`,
      };
    }
    if (described.nameParameter === undefined)
      return name === undefined
        ? undefined
        : { message: `\`${method}\` takes no name.`, hint: `Write \`MCP ${method}\`.` };
    if (name === undefined || name === "")
      return {
        message: `\`${method}\` needs a name.`,
        hint: `Write \`MCP ${method} *\` for every name, or one name.`,
      };
    return undefined;
  }

  /** Returns the fix for a key with wrong separators or a misspelled method; `undefined` for another one. */
  #suggest(method: string, name: string | undefined): string | undefined {
    const candidates = [...this.#methods.keys()].filter((each) => this.get(each)?.governedBy === undefined);
    const text = name === undefined ? method : `${method} ${name}`;
    const misseparated = candidates.find(
      (candidate) =>
        this.isNamed(candidate) && new RegExp(`^${candidate.replace("/", "[ ./:]")}[./: ]`).test(text),
    );
    if (misseparated !== undefined)
      return `Write \`MCP ${misseparated} ${text.slice(misseparated.length + 1)}\`.`;
    const alike = candidates.filter((candidate) => this.isNamed(candidate) === (name !== undefined));
    const hint = suggest(method, alike, "");
    return hint === "" ? undefined : hint;
  }
}

const FORM = "Write `MCP <method> <name>`, such as `MCP tools/call search`, or `*` for every name.";

/** The methods for a server that adds none. */
export const MCP_METHODS = new OperationMethods();

/** The methods for tables whose server isn't known. */
export const ANY_METHODS = new OperationMethods("any");
