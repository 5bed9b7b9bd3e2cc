/** The keys of operations in the table: `MCP tools/call search`, `MCP /a/mcp tools/call search`. */
import { suggest } from "../../core/errors.ts";
import type { KeyLanguage, KeyMistake } from "../../core/policy/key-language.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { type OperationKey, parseOperationKey, splitOperation } from "./operation-key.ts";
import { ANY_METHODS, type OperationMethods } from "./operation-methods.ts";
import { type McpFacts, OperationRules } from "./operation-rules.ts";
import { isTransportPath, parametersOf, type Transports } from "./transports.ts";

export const createLanguage = (facts: McpFacts): KeyLanguage => ({
  parseKey: (key) => parseKey(key, facts),
  createRules: (rules, conditioned) => new OperationRules(rules, facts, conditioned),
});

/** An operation has a name instead of a path: no segments, and any argument may fill a template. */
function parseKey(key: string, { methods, transports }: McpFacts): ReturnType<KeyLanguage["parseKey"]> {
  if (!key.startsWith(`${OPERATION_METHOD} `)) return findMisspelled(key, methods);
  const source = key.slice(OPERATION_METHOD.length + 1);
  const operation = parseOperationKey(source, methods);
  if ("message" in operation) return operation;
  const { path, method, pattern } = operation;
  const mistake = path === undefined ? undefined : findPathMistake(path, transports);
  if (mistake) return mistake;
  const names = [...(transports?.names ?? [])];
  const ofPath = path === undefined ? names : parametersOf(path);
  const variables = pattern?.variables ?? [];
  const repeated = variables.find((name) => [...names, ...ofPath].includes(name));
  if (repeated !== undefined) return describeRepeated(operation, repeated);
  const isUri = methods.get(method)?.nameParameter === "uri";
  const isNamed = methods.isNamed(method) ?? true;
  const parameters = isNamed && !isUri ? "any" : new Set([...ofPath, ...variables]);
  return { source, alternatives: [], parameters, operation };
}

function findPathMistake(path: string, transports: Transports | undefined): KeyMistake | undefined {
  const isKnown = transports ? transports.paths.includes(path) : isTransportPath(path);
  if (isKnown) return undefined;
  const written = `Write mcp: mcpOperations({ paths: [${JSON.stringify(path)}] }).`;
  return {
    message: `\`${path}\` isn't one of the \`paths\` of the transport.`,
    hint: isTransportPath(path) ? suggest(path, transports?.paths ?? [], written) : PATH_FORM,
  };
}

export const PATH_FORM =
  "Write the paths of your MCP servers: texts and parameters, such as `/mcp` or `/t/:org/mcp`.";

/** The rule would read the path's value, while the client chooses the one in the URI. */
const describeRepeated = ({ text }: OperationKey, name: string): KeyMistake => ({
  message: `\`${text}\` has the variable \`${name}\`, which is also a parameter of the transport's path.`,
  hint: "Give the variable another name.",
});

/** An operation, written differently: `mcp tools/call search`, `POST tools/call search`. */
function findMisspelled(key: string, methods: OperationMethods): KeyMistake | undefined {
  const [, operation = ""] = /^(?:\w+[ :])?([a-z].*)$/i.exec(key) ?? [];
  if (methods.get(splitOperation(operation).method) === undefined) return undefined;
  return { message: "isn't a route key.", hint: `Write \`${OPERATION_METHOD} ${operation}\`.` };
}

/** The language for tables whose server isn't known. */
export const ANY_LANGUAGE = createLanguage({ methods: ANY_METHODS });
