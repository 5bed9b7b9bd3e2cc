/** Compares the operations of an MCP server with the rules of the table. */
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import { type OperationRules, operationRulesOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { suggest } from "../../core/errors.ts";
import type { KeyMistake } from "../../core/policy/key-language.ts";
import { MCP_MISSING } from "../../core/policy/operations.ts";
import { contains, parseTemplate } from "../../capabilities/mcp-operations/name-pattern.ts";
import { renderOperation, splitOperation } from "../../capabilities/mcp-operations/operation-key.ts";
import { scopesOf, templatesOf } from "../../core/policy/requirement.ts";
import type { UnmappedRoutes } from "../../core/policy/policy.ts";
import type { CompiledRule } from "../../core/policy/rule.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { distinctBy } from "./distinct.ts";
import { unreached, unreadable } from "./findings.ts";
import { type AuditedRoute, type AuditFinding, renderRoute } from "./report.ts";

export const isOperationRoute = ({ method }: ListedRoute): boolean => method === OPERATION_METHOD;

/**
 * Returns each operation with its rule. If no operation is listed, the rules for operations are reported as
 * not audited.
 */
export function auditOperations(
  compiledTable: CompiledTable,
  operations: readonly ListedRoute[],
  fate: UnmappedRoutes,
): { readonly routes: readonly AuditedRoute[]; readonly findings: readonly AuditFinding[] } {
  const { rules } = compiledTable;
  if (operations.length === 0) return { routes: [], findings: findUnlisted(rules) };
  const table = operationRulesOf(compiledTable);
  if (!table)
    return { routes: [], findings: operations.map((operation) => uncomparable(operation, WITHOUT_RULES)) };
  const findings: AuditFinding[] = [];
  const routes: AuditedRoute[] = [];
  const reached = new Set<unknown>();
  for (const operation of operations) {
    const { method, name } = splitOperation(operation.pattern);
    const mistake = table.methods.findMistake(method, name);
    if (mistake) {
      findings.push(uncomparable(operation, mistake));
      continue;
    }
    const rules = table.find(operation.pattern);
    const [compiled] = rules;
    findings.push(...findArgumentsOfPath(operation, table));
    if (compiled) {
      for (const each of rules) reached.add(each);
      findings.push(...findOtherArguments(operation, compiled, table));
      findings.push(...findOtherScopes(operation, compiled));
    } else findings.push(unmapped(operation, fate));
    routes.push(Object.freeze({ ...operation, ...compact({ rule: compiled?.rule }), parts: [] }));
  }
  findings.push(...findShadowed(operations));
  const astray = routes.filter(({ rule }) => !rule);
  const listed = operations.map(({ pattern }) => pattern);
  const missed = rules.filter(
    (compiled) =>
      isOperationRoute(compiled.rule) &&
      !reached.has(compiled) &&
      mustBeListed(compiled.rule.pattern, listed),
  );
  return { routes, findings: [...findings, ...missed.map(({ rule }) => unreached(rule, astray))] };
}

const WITHOUT_RULES = { message: "the server has no rules for operations.", hint: MCP_MISSING };

const uncomparable = (operation: ListedRoute, mistake: KeyMistake): AuditFinding => ({
  ...unreadable(operation, mistake),
  hint: mistake.hint,
});

/** The routes of an application don't show what its MCP server offers. */
function findUnlisted(rules: CompiledTable["rules"]): readonly AuditFinding[] {
  const count = rules.filter(({ rule }) => isOperationRoute(rule)).length;
  if (count === 0) return [];
  const message = `rules of MCP operations that were not audited, because no operation is listed: ${count}.`;
  const hint =
    "Add the operations of your MCP server: [...routesOf(app), ...(await operationsOf(mcpServer))].";
  return [{ kind: "operations_missing", severity: "warning", message, hint }];
}

/**
 * Creates the finding for an operation that is missing from the table. If only subscriptions have no rule,
 * clients just miss changes.
 */
const unmapped = (route: ListedRoute, fate: UnmappedRoutes): AuditFinding => ({
  kind: "route_unmapped",
  severity: route.pattern.endsWith("subscriptions/listen") ? "note" : "error",
  route,
  message: `\`${renderRoute(route)}\` has no rule: ${fate !== "refused" ? "any valid token is enough for it" : "every call of it is refused"}.`,
  hint: `Add to scopeMappings: ${JSON.stringify(renderRoute(route))}: ["resource:action"]`,
});

/** Finds arguments in scopes and conditions that the operation doesn't have, or whose type never fits. */
function findOtherArguments(
  route: ListedRoute,
  { rule: deciding, requirement }: CompiledRule,
  table: OperationRules,
): readonly AuditFinding[] {
  const { parameters, parameterTypes = {} } = route;
  if (!parameters) return [];
  const typesByName = new Map(Object.entries(parameterTypes));
  const { path, ...called } = splitOperation(route.pattern);
  const operation = { ...called, parameters: {}, isPartial: true };
  const restrictions = table.transports.named(path).flatMap((place) => {
    const match = table.match(operation, place);
    return match.kind === "matched" ? match.restrictions().active : [];
  });
  const ofConditions = restrictions.flatMap(({ compiled: { rule }, conditions }) =>
    conditions.parameters.map((name) => ({ rule, name })),
  );
  const named = [...templatesOf(requirement).map((name) => ({ rule: deciding, name })), ...ofConditions];
  const distinct = distinctBy(named, (argument) => `${argument.rule.key} ${argument.name}`);
  return distinct.flatMap(({ rule, name }): readonly AuditFinding[] => {
    if (table.transports.names.has(name)) return [];
    const sentence = `\`${rule.key}\` names the argument \`${name}\`, which \`${renderRoute(route)}\``;
    // A server ignores an unknown argument, so a caller could send any value that its token allows.
    if (!parameters.includes(name)) {
      const message = `${sentence} doesn't have: a caller can choose its value.`;
      const hint = suggest(name, parameters, `Its arguments: ${parameters.join(", ") || "none"}.`);
      return [{ kind: "rule_argument_unknown", severity: "error", route, rule, message, hint }];
    }
    const types = [typesByName.get(name) ?? "string"].flat();
    if (types.some((each) => each === "string" || each === "integer")) return [];
    const refused = types.includes("number") ? "calls with a fraction, also 7.0," : "calls with it";
    const message = `${sentence} takes as ${types.join(" or ")}: ${refused} are refused.`;
    const hint = "Name an argument that is a string or an integer.";
    return [{ kind: "rule_argument_type", severity: "warning", route, rule, message, hint }];
  });
}

/** The rule limits the value in the path. A tool that uses its argument instead isn't limited at all. */
function findArgumentsOfPath(route: ListedRoute, table: OperationRules): readonly AuditFinding[] {
  const names = (route.parameters ?? []).filter((name) => table.transports.names.has(name));
  return names.map((name) => ({
    kind: "argument_of_path",
    severity: "warning",
    route,
    message: `\`${renderRoute(route)}\` has the argument \`${name}\`, which is also a parameter of the transport's path: rules read only the path's value.`,
    hint: "Use the value of the path in the tool, and remove the argument or give it another name.",
  }));
}

/** Different people read the code and the table, so both must require the same. */
function findOtherScopes(route: ListedRoute, { rule, requirement }: CompiledRule): readonly AuditFinding[] {
  const { scopes } = route;
  if (!scopes) return [];
  if (scopes === "unknown") {
    const message = `the scopes in the code of \`${renderRoute(route)}\` depend on the call, so they weren't compared.`;
    const hint = "Compare them yourself.";
    return [{ kind: "scopes_unknown", severity: "note", route, rule, message, hint }];
  }
  const required = scopesOf(requirement).map(({ text }) => text);
  const isSame =
    requirement.kind === "allOf" &&
    required.length === scopes.length &&
    required.every((scope) => scopes.includes(scope));
  if (isSame) return [];
  return [
    {
      kind: "scopes_differ",
      severity: "error",
      route,
      rule,
      message: `\`${rule.key}\` requires ${JSON.stringify(rule.requirement)}, but the code of the operation declares ${JSON.stringify(scopes)}.`,
      hint: `Write ${JSON.stringify(renderRoute(route))}: ${JSON.stringify(scopes)}, or change the code.`,
    },
  ];
}

/** The SDK serves a URI with the template that was registered first; the table decides by the narrowest. */
function findShadowed(operations: readonly ListedRoute[]): readonly AuditFinding[] {
  const templates = operations.flatMap((route) => {
    const { path, method, name = "" } = splitOperation(route.pattern);
    const pattern = method === "resources/read" && name.includes("{") ? parseTemplate(name) : undefined;
    return pattern && !("message" in pattern) ? [{ route, path, pattern }] : [];
  });
  return templates.flatMap(({ route, path, pattern }, index) => {
    const ofServer = templates.slice(0, index).filter((earlier) => earlier.path === path);
    const wider = ofServer.find((earlier) => contains(earlier.pattern, pattern));
    if (!wider) return [];
    return [
      {
        kind: "route_hidden",
        severity: "warning",
        route,
        message: `\`${renderRoute(wider.route)}\` is registered earlier and serves every URI of \`${renderRoute(route)}\`, which the rule for this template decides.`,
        hint: "Register the narrower template first.",
      },
    ];
  });
}

/** Clients call some methods unasked. Below a listed `docs_*`, a server may offer further names. */
function mustBeListed(text: string, listed: readonly string[]): boolean {
  // A list without a path is for the servers of all paths.
  const operation = renderOperation(splitOperation(text));
  return (
    !/^(?:subscriptions|tasks|logging)\/|^[\w/]+\/list$/.test(operation) &&
    !listed
      .filter((pattern) => pattern.endsWith("*"))
      .some((pattern) => [text, operation].some((each) => each.startsWith(pattern.slice(0, -1))))
  );
}
