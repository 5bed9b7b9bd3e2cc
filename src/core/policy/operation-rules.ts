/** The rules for operations: keys of the table without a path, such as `MCP tools/call search`. */
import { orUndefined } from "../errors.ts";
import { hasOtherSpelling, isIdentifier } from "../runtime/json.ts";
import { contains, matchName, mayMatch, type NamePattern, parseTemplate } from "./name-pattern.ts";
import { type Operation, type OperationKey, splitOperation } from "./operation-key.ts";
import type { OperationMethods } from "./operation-methods.ts";
import { templatesOf } from "./requirement.ts";
import { divideRestrictions, type Restrictions } from "./restrictions.ts";
import { type CompiledRule, type RuleMatch, toRestriction } from "./rule.ts";

/** The rules for an operation with the values for their templates, or an argument that can't fill one. */
export type OperationMatch =
  | {
      readonly kind: "matched";
      readonly matches: readonly RuleMatch[];
      readonly restrictions: Restrictions;
    }
  | { readonly kind: "unusable"; readonly argument: string }
  | { readonly kind: "unmapped" };

/** A rule that matches a name, with the values that the name has for its variables. */
interface NamedRule {
  readonly compiled: CompiledRule;
  /** Absent if the arguments of the operation fill the templates. */
  readonly values?: ReadonlyMap<string, string>;
}

/** The rules of operations. */
export class OperationRules {
  readonly methods: OperationMethods;
  readonly #rules: Layer;
  readonly #enforcedRules: Layer;
  readonly #isConditioned: boolean;
  /** Whether clients may fetch results later. */
  readonly hasTasks: boolean;

  /** `enforcedRules` is the table without its report-only rules. */
  constructor(
    rules: readonly CompiledRule[],
    enforcedRules: readonly CompiledRule[],
    methods: OperationMethods,
  ) {
    this.methods = methods;
    this.#rules = toLayer(rules);
    this.#enforcedRules = rules === enforcedRules ? this.#rules : toLayer(enforcedRules);
    this.hasTasks = [...this.#rules.keys()].some((method) => method.startsWith("tasks/"));
    this.#isConditioned = [...rules, ...enforcedRules].some(({ conditions }) => conditions);
  }

  /** Finds the rule for a key of the table, or for an operation that the server lists. */
  find(key: string): CompiledRule | undefined {
    const operation: Operation = { ...splitOperation(key), parameters: {}, isPartial: true };
    const [deciding] = this.#decide(operation, this.#rules);
    // The rule for every resource also decides a template that can't be a key.
    return deciding?.compiled ?? this.#rules.get(this.#governing(operation))?.everyName;
  }

  /** Finds the rules, with the values for their templates. */
  match(operation: Operation): OperationMatch {
    const deciding = this.#decide(operation, this.#rules);
    if (deciding.length === 0) return { kind: "unmapped" };
    if (deciding.some(({ compiled }) => compiled.isReport))
      deciding.push(...this.#decide(operation, this.#enforcedRules));
    const restricting = this.#isConditioned ? this.#findConditioned(operation) : [];
    const argumentReader = new ArgumentReader(operation);
    const argument = operation.isPartial ? undefined : findUnusableArgument(deciding, argumentReader);
    if (argument !== undefined) return { kind: "unusable", argument };
    const toMatch = ({ compiled, values }: NamedRule): RuleMatch => ({
      compiled,
      parameter: values ? (name) => values.get(name) ?? "" : (name) => argumentReader.read(name).text,
    });
    const matches = deciding.map(toMatch);
    const divided = divideRestrictions(
      restricting.flatMap((rule) => toRestriction(toMatch(rule), argumentReader)),
      matches,
    );
    return { kind: "matched", matches, restrictions: () => divided };
  }

  /** Returns the rules with conditions for an operation. */
  conditionedRules(operation: Operation): readonly CompiledRule[] {
    return this.#findConditioned(operation).map(({ compiled }) => compiled);
  }

  #decide(operation: Operation, layer: Layer): NamedRule[] {
    const rules = layer.get(this.#governing(operation));
    if (!rules) return [];
    if (this.#isTemplate(operation)) return rules.decideTemplate(operation);
    const { name, sent, others } = this.#readings(operation);
    const deciding = rules.decide(name);
    if (deciding.length === 0) return deciding;
    // Another reading only adds rules: it can't give a rule to a name that has none, because the server may
    // read the name either way. The same rule counts again if the reading fills its scopes with other values.
    const add = (rule: NamedRule): void => {
      if (rule.values || !deciding.some(({ compiled }) => compiled === rule.compiled)) deciding.push(rule);
    };
    // If no other rule matches the URI as it was sent, it's only another spelling.
    for (const rule of sent === name ? [] : rules.decide(sent))
      if (rule.compiled !== rules.everyName) add(rule);
    for (const other of others) rules.decide(other).forEach(add);
    return deciding;
  }

  #findConditioned(operation: Operation): readonly NamedRule[] {
    const governing = this.#governing(operation);
    const isTemplate = this.#isTemplate(operation);
    const { name, sent, others } = this.#readings(operation);
    const readings = isTemplate ? [operation.name ?? ""] : new Set([name, sent, ...others]);
    // Most rules are in both tables.
    const restricting = new Map<string, NamedRule>();
    for (const layer of new Set([this.#rules, this.#enforcedRules])) {
      const rules = layer.get(governing);
      if (!rules?.isConditioned) continue;
      for (const reading of readings)
        for (const rule of isTemplate ? rules.findForTemplate(operation) : rules.findAll(reading)) {
          const { rule: written, isReport, conditions } = rule.compiled;
          if (conditions) restricting.set(`${isReport} ${rule.values ? reading : ""} ${written.key}`, rule);
        }
    }
    return [...restricting.values()];
  }

  #isTemplate({ method, name = "", isPartial = false }: Operation): boolean {
    return isPartial && name.includes("{") && this.methods.get(method)?.nameParameter === "uri";
  }

  #governing({ method }: Operation): string {
    return this.methods.get(method)?.governedBy ?? method;
  }

  /**
   * Returns the ways in which servers may read a name. Servers of the SDK look up a resource by
   * `new URL(uri).href`, which determines the rule. Others use the URI as it was sent. A handler may decode
   * escapes (RFC 3986 section 6.2.2), and read several slashes as one.
   */
  #readings({ method, name: sent = "" }: Operation): Readings {
    const isUri = this.methods.get(method)?.nameParameter === "uri";
    const name = isUri ? hrefOf(sent) : sent;
    if (!isUri || (name === sent && !mayBeReadOtherwise(name))) return { name, sent, others: [] };
    const decoded = [name.replace(ESCAPES, decodeNeedless), hrefOf(name.replace(ESCAPES, decodeAll))];
    const others = [name, ...decoded].flatMap((reading) => [reading, mergeSlashes(reading)]);
    return { name, sent, others: [...new Set(others)].filter((reading) => reading !== name) };
  }
}

interface Readings {
  readonly name: string;
  readonly sent: string;
  readonly others: readonly string[];
}

const ESCAPES = /(?:%[\da-f]{2})+/gi;

const mayBeReadOtherwise = (uri: string): boolean => uri.includes("%") || mergeSlashes(uri) !== uri;

const hrefOf = (uri: string): string => orUndefined(() => new URL(uri).href) ?? uri;

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

/** Finds an argument that a scope names and that no scope can contain. */
function findUnusableArgument(deciding: readonly NamedRule[], reader: ArgumentReader): string | undefined {
  return deciding
    .flatMap(({ compiled, values }) => (values ? [] : templatesOf(compiled.requirement)))
    .find((name) => reader.read(name).kind === "unusable");
}

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

function readArgument(parameters: Operation["parameters"], name: string): Argument {
  // Some servers read `Team` as `team`.
  if (hasOtherSpelling(parameters, new Set([name]))) return { kind: "unusable", text: "" };
  // Own properties only: a polluted prototype must not fill a scope.
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (value === undefined) return { kind: "absent", text: "" };
  return isIdentifier(value) ? { kind: "value", text: String(value) } : { kind: "unusable", text: "" };
}

/** The rules of each method. */
type Layer = ReadonlyMap<string, MethodRules>;

function toLayer(rules: readonly CompiledRule[]): Layer {
  const layer = new Map<string, MethodRules>();
  for (const compiled of rules) {
    const { operation } = compiled.pattern;
    if (!operation) continue;
    const ofMethod = layer.get(operation.method) ?? new MethodRules();
    layer.set(operation.method, ofMethod);
    ofMethod.add(compiled, operation);
  }
  return layer;
}

interface PatternRule {
  readonly compiled: CompiledRule;
  readonly pattern: NamePattern;
}

/** The rules for one method, by the name of what it calls. */
class MethodRules {
  readonly #exact = new Map<string, CompiledRule>();
  readonly #patterns: PatternRule[] = [];
  everyName: CompiledRule | undefined;
  isConditioned = false;

  add(compiled: CompiledRule, { name, pattern }: OperationKey): void {
    if (compiled.conditions) this.isConditioned = true;
    if (pattern) this.#patterns.push({ compiled, pattern });
    else if (name === undefined) this.everyName = compiled;
    else this.#exact.set(name, compiled);
  }

  /** Finds the rule for a name: the rule for the whole name, for the narrowest pattern, or for every name. */
  decide(name: string): NamedRule[] {
    const compiled = this.#exact.get(name);
    return compiled ? [{ compiled }] : this.#decideByPatterns(this.#matchPatterns(name));
  }

  /** Finds the rule for a template: for the narrowest template that contains it, or for every URI. */
  decideTemplate(operation: Operation): NamedRule[] {
    if ("message" in parseTemplate(operation.name ?? "")) return [];
    return this.#decideByPatterns(this.#matchTemplate(operation));
  }

  #decideByPatterns(matches: readonly PatternMatch[]): NamedRule[] {
    const narrowest = narrowestOf(matches.filter(({ isCertain }) => isCertain));
    const deciding = narrowest.map(toNamedRule);
    if (deciding.length === 0 && this.everyName) deciding.push({ compiled: this.everyName });
    if (deciding.length === 0) return deciding;
    // A server that doesn't use the SDK may also match these patterns, before a wider one.
    for (const match of matches)
      if (!match.isCertain && !narrowest.some(({ pattern }) => contains(match.pattern, pattern)))
        deciding.push(toNamedRule(match));
    return deciding;
  }

  /** Finds all rules that match a name, however narrow they are. */
  findAll(name: string, matches = this.#matchPatterns(name)): readonly NamedRule[] {
    const plain = [this.#exact.get(name), this.everyName].flatMap((compiled) => compiled ?? []);
    return [...plain.map((compiled) => ({ compiled })), ...matches.map(toNamedRule)];
  }

  /** Finds all rules that contain a template. */
  findForTemplate(operation: Operation): readonly NamedRule[] {
    return this.findAll(operation.name ?? "", this.#matchTemplate(operation));
  }

  /** Finds the patterns that contain a template. Variables that divide the URI differently have no values. */
  #matchTemplate(operation: Operation): readonly PatternMatch[] {
    const template = parseTemplate(operation.name ?? "");
    if ("message" in template) return [];
    const reader = new ArgumentReader(operation);
    return this.#patterns
      .filter(({ pattern }) => contains(pattern, template))
      .map((rule) => {
        const isSame = rule.pattern.identity === template.identity;
        const values = rule.pattern.variables.map(
          (name, index) => [name, isSame ? reader.read(template.variables[index] ?? "").text : ""] as const,
        );
        return { ...rule, values: new Map(values), isCertain: true };
      });
  }

  /** Matches a name with each pattern, as the SDK does and as other servers may. */
  #matchPatterns(name: string): readonly PatternMatch[] {
    return this.#patterns.flatMap((rule): readonly PatternMatch[] => {
      const values = matchName(rule.pattern, name);
      if (values) return [{ ...rule, values, isCertain: true }];
      return mayMatch(rule.pattern, name)
        ? [{ ...rule, values: new Map<string, string>(), isCertain: false }]
        : [];
    });
  }
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
