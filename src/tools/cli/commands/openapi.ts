import {
  checkDocument,
  type DocumentOptions,
  fromDocument,
  type OpenApiDocument,
  parseDocument,
  renderDocument,
  toSecurity,
} from "../../openapi/index.ts";
import type { ConfigurationIssue } from "../../../core/errors.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { type Command, type Result, UsageError } from "../command.ts";
import { readText } from "../files.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

export const openapi: Command = {
  name: "openapi",
  summary: "Write the table into an OpenAPI document, compare the two, or create a table from a document.",
  words: ["write|check|import", "FILE"],
  options: {
    ...POLICY_OPTIONS,
    "base-path": { value: "PATH", text: "the prefix of every path. Default: that of `servers`" },
    "missing-security": {
      value: "WHAT",
      text: "check, import: what operations without `security` require: authenticated, public, or error. Default: authenticated",
    },
  },
  examples: [
    [
      "write api.yaml --config scopegate.json > secured.yaml",
      "Prints the document with security and the responses 401 and 403.",
    ],
    [
      "check api.yaml --app ./app.js",
      "Checks that every operation has a rule that requires what the document says.",
    ],
    [
      "import api.yaml > imported.json",
      "Prints a configuration with one rule for each operation. Lists unclear rules on stderr.",
    ],
  ],
  async run(input) {
    const [action = "", file = ""] = input.words;
    const [policy, text] = await input.all(
      // An import creates a table, so it needs none.
      () => (action === "write" || action === "check" ? readPolicy(input) : undefined),
      () => readText(file),
      () => {
        if (!ACTIONS.includes(action))
          throw new UsageError("openapi takes write, check or import, and a file.");
      },
    );
    const options: DocumentOptions = compact({
      basePath: input.text("base-path"),
      missingSecurity: input.text("missing-security") as DocumentOptions["missingSecurity"],
    });
    const document = parseDocument(text);
    if (!policy) return importTable(document, options);
    if (action === "check") {
      const { ok, summary, findings, text: report } = checkDocument(document, policy.server, options);
      return { isFinding: !ok, data: { ok, summary, findings }, text: report };
    }
    const format = text.trimStart().startsWith("{") ? "json" : "yaml";
    const secured = toSecurity(document, policy.server, options);
    return { data: secured, text: renderDocument(secured, format), isFile: true };
  },
};

function importTable(document: OpenApiDocument, options: DocumentOptions): Result {
  const unclear: ConfigurationIssue[] = [];
  const onUnclear = (issue: ConfigurationIssue) => void unclear.push(issue);
  const table = {
    default_scope_mappings: {},
    scope_mappings: fromDocument(document, { ...options, onUnclear }),
  };
  return compact({
    data: table,
    text: renderDocument(table, "json"),
    isFile: true,
    warning: unclear.length > 0 ? describeUnclear(unclear) : undefined,
  });
}

/** Lists operations whose requirement is unclear. A person must check their rules. */
function describeUnclear(issues: readonly ConfigurationIssue[]): string {
  const lines = issues.map(({ path: [, , path, name], code, message }) => {
    const result = code.startsWith("route_") ? "It has no rule." : "Its rule is []: any valid token.";
    return `  ${String(name).toUpperCase()} ${path} ${message} ${result}`;
  });
  const operations = new Set(issues.map(({ path }) => path.join(" ")));
  const noun = operations.size === 1 ? "operation" : "operations";
  return `Check the rules of ${operations.size} ${noun}, or complete the document:\n${lines.join("\n")}`;
}

const ACTIONS = ["write", "check", "import"];
