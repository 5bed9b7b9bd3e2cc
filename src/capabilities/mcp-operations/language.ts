/** The keys of operations in the table: `MCP tools/call search`. */
import type { KeyLanguage, KeyMistake } from "../../core/policy/key-language.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { parseOperationKey, splitOperation } from "./operation-key.ts";
import { ANY_METHODS, type OperationMethods } from "./operation-methods.ts";
import { OperationRules } from "./operation-rules.ts";

export const createLanguage = (methods: OperationMethods): KeyLanguage => ({
  parseKey: (key) => parseKey(key, methods),
  createRules: (rules, conditioned) => new OperationRules(rules, methods, conditioned),
});

/** An operation has a name instead of a path: no segments, and any argument may fill a template. */
function parseKey(key: string, methods: OperationMethods): ReturnType<KeyLanguage["parseKey"]> {
  if (!key.startsWith(`${OPERATION_METHOD} `)) return findMisspelled(key, methods);
  const source = key.slice(OPERATION_METHOD.length + 1);
  const operation = parseOperationKey(source, methods);
  if ("message" in operation) return operation;
  const isUri = methods.get(operation.method)?.nameParameter === "uri";
  const isNamed = methods.isNamed(operation.method) ?? true;
  const parameters = isNamed && !isUri ? "any" : new Set(operation.pattern?.variables);
  return { source, alternatives: [], parameters, operation };
}

/** An operation, written differently: `mcp tools/call search`, `POST tools/call search`. */
function findMisspelled(key: string, methods: OperationMethods): KeyMistake | undefined {
  const [, operation = ""] = /^(?:\w+[ :])?([a-z].*)$/i.exec(key) ?? [];
  if (methods.get(splitOperation(operation).method) === undefined) return undefined;
  return { message: "isn't a route key.", hint: `Write \`${OPERATION_METHOD} ${operation}\`.` };
}

/** The language for tables whose server isn't known. */
export const ANY_LANGUAGE = createLanguage(ANY_METHODS);
