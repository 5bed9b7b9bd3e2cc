/** The rules for operations: keys of the table without a path, such as `MCP tools/call search`. */
import type { RequiredScope } from "../../core/scopes/required-scope.ts";
import { orUndefined } from "../../core/errors.ts";
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import type { Governing } from "../../core/policy/governing.ts";
import type { OperationRules as Rules } from "../../core/policy/key-language.ts";
import { scopesOf } from "../../core/policy/requirement.ts";
import { joinRestrictions } from "../../core/policy/join-restrictions.ts";
import {
  type OperationRestrictions,
  type Restrictions,
  UNRESTRICTED,
} from "../../core/policy/restrictions.ts";
import type { CompiledRule, RuleMatch } from "../../core/policy/rule.ts";
import { ambiguous } from "../../core/policy/table.ts";
import { type Path, readPath } from "../../core/request.ts";
import { isIdentifier } from "../../core/runtime/json.ts";
import { contains, matchName, mayMatch, type NamePattern, parseTemplate } from "./name-pattern.ts";
import { includesName, type Operation, type OperationKey, splitOperation } from "./operation-key.ts";
import type { OperationMethods } from "./operation-methods.ts";
import { hasOtherSpelling } from "./other-spelling.ts";
import { type Place, Transports, valueAt } from "./transports.ts";

/** The rules for an operation with the values for their templates, or an argument that can't fill one. */
export type OperationMatch =
  | {
      readonly kind: "matched";
      readonly matches: readonly RuleMatch[];
      readonly restrictions: Restrictions;
    }
  | { readonly kind: "unusable"; readonly argument: string }
  | { readonly kind: "unmapped" };

/** What is known about the MCP servers of a table. `transports` is absent if their paths aren't known. */
export interface McpFacts {
  readonly methods: OperationMethods;
  readonly transports?: Transports;
  /** Whether operations that a caller may not call don't exist for it. */
  readonly hidden?: boolean;
  /** Whether lists say what each tool needs, and refused calls of tools are results. */
  readonly securitySchemes?: boolean;
}

/** A rule that matches a name, with the values that the name has for its variables. */
interface NamedRule {
  readonly compiled: CompiledRule;
  /** Absent if the arguments of the operation fill the templates. */
  readonly values?: ReadonlyMap<string, string>;
}

/** Stands for the path of a question without a request: the rules of every transport count. */
const NO_PATH: Path = { text: "/", end: 0, isPlain: true };

export class OperationRules implements Rules {
  readonly methods: OperationMethods;
  readonly transports: Transports;
  readonly hidden: boolean;
  readonly securitySchemes: boolean;
  readonly #rules: Layer;
  readonly #conditioned: OperationRestrictions | undefined;
  /** Whether clients may fetch results later. */
  readonly hasTasks: boolean;

  constructor(
    rules: readonly CompiledRule[],
    { methods, transports = new Transports(), hidden = false, securitySchemes = false }: McpFacts,
    conditioned?: OperationRestrictions,
  ) {
    this.methods = methods;
    this.transports = transports;
    this.hidden = hidden;
    this.securitySchemes = securitySchemes;
    this.#rules = toLayer(rules);
    this.hasTasks = [...this.#rules.keys()].some((key) => /^(?:\/\S* )?tasks\//.test(key));
    this.#conditioned = conditioned;
  }

  /** Finds the rules for a key of the table, or for an operation that the server lists. */
  find(key: string): readonly CompiledRule[] {
    const { path, ...called } = splitOperation(key);
    const operation: Operation = { ...called, parameters: {}, isPartial: true };
    const rules = this.transports.named(path).flatMap((place) => {
      const deciding = this.#decide(operation, place).map(({ compiled }) => compiled);
      // The rule for every resource also decides a template that can't be a key.
      return deciding.length > 0 ? deciding : (this.#rulesFor(operation, place)?.everyName ?? []);
    });
    return [...new Set(rules)];
  }

  /** Adds the rules for the operations that the body of a request calls to the rules for its path. */
  forCalls(pathRules: Governing, calls: readonly Operation[]): Governing {
    if (pathRules.kind === "ambiguous" || calls.length === 0) return pathRules;
    const { path } = pathRules;
    const places = path === NO_PATH ? this.transports.named(undefined) : this.transports.at(path);
    if (places.length === 0) return { ...pathRules, kind: "unmapped", isOperation: true, cause: OTHER_PATH };
    const matches = [...pathRules.matches];
    const parts = [pathRules.restrictions];
    let isUnmapped = false;
    for (const call of calls)
      for (const place of places) {
        const result = this.match(call, place);
        if (result.kind === "unusable")
          return ambiguous(
            `The argument \`${result.argument}\` must be a non-empty string or a safe integer (7, not 7.0), and its name must not occur in another letter case.`,
          );
        if (result.kind === "unmapped") isUnmapped = true;
        else {
          matches.push(...result.matches);
          parts.push(result.restrictions);
        }
      }
    const restrictions = joinRestrictions(parts);
    if (isUnmapped) return { ...pathRules, kind: "unmapped", matches, restrictions, isOperation: true };
    return { ...pathRules, matches, restrictions };
  }

  /** Returns the rules for one operation, of a request with this path or for a program without one. */
  forOperation(call: Operation, path = NO_PATH): Governing {
    const { method, name } = call;
    // Without a name, the rule for every name must not decide. The transport's rule decides housekeeping.
    const isComplete = this.methods.isNamed(method) === (name !== undefined && name !== "");
    const mistake = isComplete ? undefined : this.methods.findMistake(method, name);
    if (mistake) return ambiguous(`${mistake.message} ${mistake.hint}`);
    const noRules = { kind: "rules", matches: [], restrictions: UNRESTRICTED, isExact: true } as const;
    return this.forCalls({ ...noRules, path }, [call]);
  }

  forTarget(target: string, parameters: Operation["parameters"]): Governing {
    const { path, ...called } = splitOperation(target);
    const isUnreadable = path !== undefined && readPath(path) === undefined;
    if (isUnreadable) return ambiguous(`\`${path}\` isn't the path of a request.`);
    return this.forOperation({ ...called, parameters }, path === undefined ? NO_PATH : readPath(path));
  }

  /** Finds the rules of one place, with the values for their templates. */
  match(operation: Operation, place: Place): OperationMatch {
    const deciding = this.#decide(operation, place);
    if (deciding.length === 0) return { kind: "unmapped" };
    const restricting = this.#conditioned ? this.#findConditioned(operation, place) : [];
    const { names } = this.transports;
    const argumentReader = new ArgumentReader(operation);
    const read = (name: string): Argument =>
      names.has(name) ? toArgument(valueAt(place, name)) : argumentReader.read(name);
    const toMatch = ({ compiled, values }: NamedRule): RuleMatch => ({
      compiled,
      parameter: (name) => (values && !names.has(name) ? (values.get(name) ?? "") : read(name).text),
      source: place.source,
    });
    const matches = deciding.map(toMatch);
    const restrictions =
      this.#conditioned?.forOperation(restricting.map(toMatch), argumentReader, matches) ?? UNRESTRICTED;
    const required = [
      ...deciding.map(({ compiled, values }) => (values ? [] : scopesOf(compiled.requirement))),
      ...restrictions().active.map(({ conditions }) => conditions.also.scopes),
    ];
    const isUnusable = ({ template }: RequiredScope): boolean =>
      template?.parameter !== undefined && read(template.parameter).kind === "unusable";
    const unusable = required.map((scopes) => scopes.find(isUnusable)).find((scope) => scope !== undefined);
    const argument = unusable?.template?.parameter;
    if (argument !== undefined && !operation.isPartial) return { kind: "unusable", argument };
    return { kind: "matched", matches, restrictions };
  }

  conditionedRules(operation: Operation): readonly CompiledRule[] {
    const places = this.transports.named(undefined);
    return places.flatMap((place) => this.#findConditioned(operation, place).map(({ compiled }) => compiled));
  }

  #decide(operation: Operation, place: Place): NamedRule[] {
    const rules = this.#rulesFor(operation, place);
    if (!rules) return [];
    const { name, sent, others } = this.#readings(operation);
    const deciding = rules.decide(name);
    if (deciding.length === 0) return deciding;
    // Another reading only adds rules: it can't give a rule to a name that has none, because the server may
    // read the name either way. The same rule counts again if the reading fills its scopes with other values.
    const add = (rule: NamedRule): void => {
      if (rule.values || !deciding.some(({ compiled }) => compiled === rule.compiled)) deciding.push(rule);
    };
    // If no other rule matches the URI as it was sent, it's only another spelling.
    for (const rule of sent === name ? [] : rules.decide(sent)) if (!isForEveryName(rule.compiled)) add(rule);
    for (const other of others) rules.decide(other).forEach(add);
    return deciding;
  }

  #findConditioned(operation: Operation, place: Place): readonly NamedRule[] {
    const rules = this.#rulesFor(operation, place);
    if (!rules?.isConditioned) return [];
    const { name, sent, others } = this.#readings(operation);
    const readings = [...new Set([name, sent, ...others])];
    const restricting = new Map<string, NamedRule>();
    for (const [index, reading] of readings.entries())
      for (const rule of rules.findAll(reading)) {
        const { rule: written, conditions } = rule.compiled;
        if (conditions) restricting.set(`${rule.values ? index : ""} ${written.key}`, rule);
      }
    return [...restricting.values()];
  }

  /** Finds the rules for a method at a place: those of its path, or else those of all paths. */
  #rulesFor(operation: Operation, { path }: Place): MethodRules | undefined {
    const method = this.#governing(operation);
    return (path === undefined ? undefined : this.#rules.get(`${path} ${method}`)) ?? this.#rules.get(method);
  }

  #governing({ method }: Operation): string {
    return this.methods.get(method)?.governedBy ?? method;
  }

  /**
   * Returns the ways in which servers may read a name. Servers of the SDK look up a resource by
   * `new URL(uri).href`, which determines the rule. Others use the URI as it was sent. A handler may decode
   * escapes (RFC 3986 section 6.2.2), and read several slashes as one.
   */
  #readings(operation: Operation): Readings {
    const { method, name: sent = "", isPartial = false } = operation;
    const isUri = this.methods.get(method)?.nameParameter === "uri";
    if (isUri && isPartial && sent.includes("{")) {
      const template = { pattern: parseTemplate(sent), argumentReader: new ArgumentReader(operation) };
      return { name: template, sent: template, others: [] };
    }
    const name = isUri ? hrefOf(sent) : sent;
    if (!isUri || (name === sent && !mayBeReadOtherwise(name))) return { name, sent, others: [] };
    const decoded = [name.replace(ESCAPES, decodeNeedless), hrefOf(name.replace(ESCAPES, decodeAll))];
    const others = [name, ...decoded].flatMap((reading) => [reading, mergeSlashes(reading)]);
    return { name, sent, others: [...new Set(others)].filter((reading) => reading !== name) };
  }
}

/** A name, or the template of a completion or a list, with the arguments for its variables. */
type Reading = string | Template;

interface Template {
  readonly pattern: ReturnType<typeof parseTemplate>;
  readonly argumentReader: ArgumentReader;
}

interface Readings {
  readonly name: Reading;
  readonly sent: Reading;
  readonly others: readonly string[];
}

const ESCAPES = /(?:%[\da-f]{2})+/gi;

const mayBeReadOtherwise = (uri: string): boolean => uri.includes("%") || mergeSlashes(uri) !== uri;

const OTHER_PATH = "The path of the request isn't one of the `paths` of `mcpOperations`.";

/** Returns a URI as the SDK looks it up. */
export const hrefOf = (uri: string): string => orUndefined(() => new URL(uri).href) ?? uri;

const mergeSlashes = (uri: string): string =>
  uri.replace(
    /^([a-z][\w+.-]*:\/\/)?(.*)$/i,
    (_, scheme = "", rest: string) => `${scheme as string}${rest.replaceAll(/\/{2,}/g, "/")}`,
  );

/** Decodes the escapes of characters that need no escape. */
const decodeNeedless = (escapes: string): string =>
  escapes.replace(/%../g, (escape) => {
    const character = characterOf(escape);
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  });

/** Decodes escapes. Some servers also decode the characters next to bytes that aren't UTF-8. */
const decodeAll = (escapes: string): string =>
  orUndefined(() => decodeURIComponent(escapes)) ?? escapes.replace(/%[0-7]./g, characterOf);

const characterOf = (escape: string): string => String.fromCharCode(parseInt(escape.slice(1), 16));

/** Returns the rules of a table for operations, which only this capability creates. */
export const operationRulesOf = ({
  operations,
}: Pick<CompiledTable, "operations">): OperationRules | undefined => operations as OperationRules | undefined;

/** What scopes and `where` read. Without a value, a scope must be granted for every id. */
type Argument =
  | { readonly kind: "value"; readonly text: string }
  | { readonly kind: "absent" | "unusable"; readonly text: "" };

/** Reads each argument once: later code may change them. */
class ArgumentReader {
  readonly #parameters: Operation["parameters"];
  readonly #arguments = new Map<string, Argument>();

  constructor({ parameters }: Operation) {
    this.#parameters = parameters;
  }

  read(name: string): Argument {
    const argument = this.#arguments.get(name) ?? readArgument(this.#parameters, name);
    this.#arguments.set(name, argument);
    return argument;
  }
}

const toArgument = (text: string): Argument =>
  text === "" ? { kind: "absent", text: "" } : { kind: "value", text };

function readArgument(parameters: Operation["parameters"], name: string): Argument {
  // Some servers read `Team` as `team`.
  if (hasOtherSpelling(parameters, new Set([name]))) return { kind: "unusable", text: "" };
  // Own properties only: a polluted prototype must not fill a scope.
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (value === undefined) return { kind: "absent", text: "" };
  return isIdentifier(value) ? toArgument(String(value)) : { kind: "unusable", text: "" };
}

/** The rules of each method, and of each method at a path: `/a/mcp tools/call`. */
type Layer = ReadonlyMap<string, MethodRules>;

function toLayer(rules: readonly CompiledRule[]): Layer {
  const layer = new Map<string, MethodRules>();
  for (const compiled of rules) {
    const { operation } = compiled.pattern;
    if (!operation) continue;
    // A table has keys of one language only.
    const key = operation as OperationKey;
    const name = key.path === undefined ? key.method : `${key.path} ${key.method}`;
    const ofMethod = layer.get(name) ?? new MethodRules();
    layer.set(name, ofMethod);
    ofMethod.add(compiled, key);
  }
  for (const [name, rules] of layer)
    if (name.startsWith("/")) rules.everywhere = layer.get(splitOperation(name).method);
  return layer;
}

interface PatternRule {
  readonly compiled: CompiledRule;
  readonly pattern: NamePattern;
}

const keyOf = ({ pattern }: CompiledRule): OperationKey => pattern.operation as OperationKey;

const isForEveryName = (compiled: CompiledRule): boolean => {
  const { name, pattern } = keyOf(compiled);
  return name === undefined && !pattern;
};

/** The rules for one method, by the name of what it calls. */
class MethodRules {
  readonly #exact = new Map<string, CompiledRule>();
  readonly #patterns: PatternRule[] = [];
  #everyName: CompiledRule | undefined;
  #isConditioned = false;
  /** The rules of the same method for every path, if these are the rules for one path. */
  everywhere: MethodRules | undefined;

  get everyName(): CompiledRule | undefined {
    return this.#everyName ?? this.everywhere?.everyName;
  }

  get isConditioned(): boolean {
    return this.#isConditioned || this.everywhere?.isConditioned === true;
  }

  add(compiled: CompiledRule, { name, pattern }: OperationKey): void {
    if (compiled.conditions) this.#isConditioned = true;
    if (pattern) this.#patterns.push({ compiled, pattern });
    else if (name === undefined) this.#everyName = compiled;
    else this.#exact.set(name, compiled);
  }

  /**
   * Finds the rules for a name that contain no other rule for it. Of two rules of which one has the narrower
   * path and the other one the narrower name, both count.
   */
  decide(reading: Reading): NamedRule[] {
    const deciding = this.#decideHere(reading);
    if (!this.everywhere) return deciding;
    const isWider = (wider: NamedRule): boolean =>
      deciding.some(({ compiled }) => includesName(keyOf(wider.compiled), keyOf(compiled)));
    return [...deciding, ...this.everywhere.decide(reading).filter((rule) => !isWider(rule))];
  }

  /** Finds the rule for the whole name, for the narrowest pattern, or for every name. */
  #decideHere(reading: Reading): NamedRule[] {
    const compiled = this.#findExact(reading);
    if (compiled) return [{ compiled }];
    const matches = this.#matchPatterns(reading);
    if (!matches) return [];
    const narrowest = narrowestOf(matches.filter(({ isCertain }) => isCertain));
    const deciding = narrowest.map(toNamedRule);
    if (deciding.length === 0 && this.#everyName) deciding.push({ compiled: this.#everyName });
    if (deciding.length === 0) return deciding;
    // A server that doesn't use the SDK may also match these patterns, before a wider one.
    for (const match of matches)
      if (!match.isCertain && !narrowest.some(({ pattern }) => contains(match.pattern, pattern)))
        deciding.push(toNamedRule(match));
    return deciding;
  }

  /** Finds all rules that match a name, however narrow they are. */
  findAll(reading: Reading): readonly NamedRule[] {
    const plain = [this.#findExact(reading), this.#everyName].flatMap((compiled) => compiled ?? []);
    const matches = this.#matchPatterns(reading) ?? [];
    const here = [...plain.map((compiled) => ({ compiled })), ...matches.map(toNamedRule)];
    return [...here, ...(this.everywhere?.findAll(reading) ?? [])];
  }

  #findExact(reading: Reading): CompiledRule | undefined {
    return typeof reading === "string" ? this.#exact.get(reading) : undefined;
  }

  /**
   * Finds the patterns that match a name, as the SDK does and as other servers may, or that contain a
   * template. Returns `undefined` for a template that can't be read.
   */
  #matchPatterns(reading: Reading): readonly PatternMatch[] | undefined {
    if (typeof reading === "string") return this.#patterns.flatMap((rule) => matchPattern(rule, reading));
    const { pattern: template, argumentReader } = reading;
    if ("message" in template) return undefined;
    return this.#patterns
      .filter(({ pattern }) => contains(pattern, template))
      .map((rule) => {
        // Variables that divide the URI differently have no values.
        const isSame = rule.pattern.identity === template.identity;
        const values = rule.pattern.variables.map(
          (name, index) =>
            [name, isSame ? argumentReader.read(template.variables[index] ?? "").text : ""] as const,
        );
        return { ...rule, values: new Map(values), isCertain: true };
      });
  }
}

function matchPattern(rule: PatternRule, name: string): readonly PatternMatch[] {
  const values = matchName(rule.pattern, name);
  if (values) return [{ ...rule, values, isCertain: true }];
  return mayMatch(rule.pattern, name) ? [{ ...rule, values: new Map(), isCertain: false }] : [];
}

/** A pattern that a name matches. */
interface PatternMatch extends PatternRule {
  readonly values: ReadonlyMap<string, string>;
  /** Whether the SDK matches it; if not, other servers may. */
  readonly isCertain: boolean;
}

/** Omits each pattern that contains another one. If two patterns only overlap, both rules count. */
const narrowestOf = <Rule extends PatternRule>(matching: readonly Rule[]): readonly Rule[] =>
  matching.filter(
    ({ pattern }) => !matching.some((other) => other.pattern !== pattern && contains(pattern, other.pattern)),
  );

/** The URI fills the variables of a template. For `docs_*`, which has none, the arguments fill the scopes. */
const toNamedRule = ({ compiled, pattern, values }: PatternMatch): NamedRule =>
  pattern.variables.length === 0 ? { compiled } : { compiled, values };
