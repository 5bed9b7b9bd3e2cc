import { explain } from "../../capabilities/explain/index.ts";
import { optionError } from "../../core/options/option-checks.ts";
import { suggest } from "../../core/errors.ts";
import { type Alternative, namesOf } from "../../core/policy/pattern.ts";
import { isPattern } from "../../core/policy/parse-pattern.ts";
import { templatesOf } from "../../core/policy/requirement.ts";
import { parseRulePattern } from "../../core/policy/rule-pattern.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import { pipelineOf } from "../../core/port.ts";
import { fillName } from "../../capabilities/mcp-operations/name-pattern.ts";
import type { OperationKey } from "../../capabilities/mcp-operations/operation-key.ts";
import { parametersOf } from "../../capabilities/mcp-operations/transports.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { samplePath, type SampleValue } from "../shared/sample-path.ts";
import type { TestRequest } from "./check.ts";

/** The values of route parameters. The default of each parameter is its name. */
export type SampleParams = Readonly<Record<string, string>>;

const CHANGING = ["POST", "PUT", "PATCH", "DELETE"];
/** The methods to try for a rule with `*`. */
const METHODS = ["GET", ...CHANGING, "OPTIONS", "HEAD"];

/** The variants to try for each parameter, because a narrower rule may decide some of the paths. */
const VARIANTS = [0, 1, 2, 3];

/** Finds a request that the rule decides, and if methods differ, also one that changes something. */
export function samplesOf(
  server: ResourceServer,
  compiled: CompiledRule,
  params: SampleParams,
): readonly TestRequest[] {
  const { method } = compiled.rule;
  const sample = sampleOf(server, compiled, params, method === "*" ? METHODS : [method]);
  if (sample?.method !== "GET" || method !== "*") return sample ? [sample] : [];
  const { rules } = pipelineOf(server).policy.rules;
  const isByMethod = rules.some(({ conditions }) => conditions?.unless.methods);
  const change = isByMethod ? sampleOf(server, compiled, params, CHANGING) : undefined;
  return change ? [sample, change] : [sample];
}

function sampleOf(
  server: ResourceServer,
  { rule, pattern, requirement }: CompiledRule,
  params: SampleParams,
  methods: readonly string[],
): TestRequest | undefined {
  if (rule.method === OPERATION_METHOD) {
    const callArguments = Object.fromEntries(
      templatesOf(requirement).map((name) => [name, params[name] ?? name]),
    );
    const valueOf = (name: string): string => params[name] ?? (name === "" ? "x" : name);
    const { path, method, pattern: names, text } = pattern.operation as OperationKey;
    const operation = names ? `${method} ${fillName(names, valueOf)}` : text;
    const [transport] = path === undefined ? [] : alternativesOf(path);
    const target = transport ? `${samplePath(transport, valuesFor(params, 0))} ${operation}` : operation;
    return { method: rule.method, target, params: callArguments };
  }
  for (const method of methods) {
    for (const variant of VARIANTS) {
      for (const alternative of pattern.alternatives) {
        const target = samplePath(alternative, valuesFor(params, variant));
        if (explain(server, { method, path: target }).decision.rule === rule) return { method, target };
      }
    }
  }
  return undefined;
}

/** Returns the forms of the path of an MCP server. */
function alternativesOf(path: string): readonly Alternative[] {
  const parsed = parseRulePattern(path);
  return isPattern(parsed) ? parsed.alternatives : [];
}

/** @throws ConfigurationError for a parameter that no rule has */
export function requireParams(call: string, params: SampleParams, rules: readonly CompiledRule[]): void {
  const ruleParams = new Set(
    rules.flatMap(({ rule, pattern, requirement }) => {
      if (rule.method === OPERATION_METHOD) {
        const { path } = pattern.operation as OperationKey;
        return [...templatesOf(requirement), ...(path === undefined ? [] : parametersOf(path))];
      }
      return pattern.alternatives.flatMap(({ segments }) => segments.flatMap(namesOf));
    }),
  );
  const names = [...ruleParams];
  for (const [name, value] of Object.entries(params)) {
    const path = [call, "params", name];
    const hint = suggest(name, names, `The parameters are ${names.join(", ")}.`);
    if (!ruleParams.has(name)) throw optionError(path, "isn't a parameter of any rule.", hint);
    if (value === "") throw optionError(path, "is empty.", "Write a value that can be part of a path.");
  }
}

const valuesFor =
  (params: SampleParams, variant: number): SampleValue =>
  (name, kind) => {
    const value = params[name];
    if (kind === "parameter")
      return encodeURIComponent(value ?? (variant === 0 ? name : `${name}-${variant}`));
    if (value !== undefined) return value.split("/").map(encodeURIComponent).join("/");
    return Array.from({ length: variant + 1 }, () => name).join("/");
  };
