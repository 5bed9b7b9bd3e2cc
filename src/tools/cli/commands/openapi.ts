import {
  checkDocument,
  type DocumentOptions,
  fromDocument,
  parseDocument,
  renderDocument,
  toSecurity,
} from "../../openapi/index.ts";
import { type ConfigurationIssue } from "../../../core/errors.ts";
import { type Command, UsageError } from "../command.ts";
import { readText } from "../files.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

export const openapi: Command = {
  name: "openapi",
  summary: "Write the table into an OpenAPI document, compare the two, or make a table from a document.",
  words: ["write|check|import", "FILE"],
  options: {
    ...POLICY_OPTIONS,
    "base-path": { value: "PATH", text: "the path in front of all paths. Default: that of `servers`" },
    "missing-security": {
      value: "WHAT",
      text: "check, import: what operations without `security` require: authenticated, public, or error. Default: authenticated",
    },
  },
  examples: [
    [
      "write api.yaml --config scopegate.json > secured.yaml",
      "The document with security and responses 401 and 403.",
    ],
    [
      "check api.yaml --app ./app.js",
      "Whether every operation has a rule that requires what the document says.",
    ],
    [
      "import api.yaml > imported.json",
      "A configuration with one rule for each operation. Lists those that are unclear on stderr.",
    ],
  ],
  async run(given) {
    const [action = "", file = ""] = given.words;
    const [{ server }, text] = await given.all(
      () => readPolicy(given),
      () => readText(file),
      () => {
        if (!ACTIONS.includes(action))
          throw new UsageError("openapi takes write, check or import, and a file.");
      },
    );
    const basePath = given.text("base-path");
    const missingSecurity = given.text("missing-security") as DocumentOptions["missingSecurity"];
    const options: DocumentOptions = {
      ...(basePath !== undefined && { basePath }),
      ...(missingSecurity !== undefined && { missingSecurity }),
    };
    const document = parseDocument(text);
    if (action === "check") {
      const { ok, summary, findings, text: found } = checkDocument(document, server, options);
      return { isFinding: !ok, data: { ok, summary, findings }, text: found };
    }
    const unclear: ConfigurationIssue[] = [];
    const onUnclear = (issue: ConfigurationIssue) => void unclear.push(issue);
    const format = text.trimStart().startsWith("{") ? "json" : "yaml";
    const made =
      action === "write"
        ? toSecurity(document, server, options)
        : { default_scope_mappings: {}, scope_mappings: fromDocument(document, { ...options, onUnclear }) };
    return {
      data: made,
      text: renderDocument(made, action === "write" ? format : "json"),
      isFile: true,
      ...(unclear.length > 0 && { warning: describeUnclear(unclear) }),
    };
  },
};

/** Lists operations whose requirement is unclear. Their rules must be checked by a person. */
function describeUnclear(issues: readonly ConfigurationIssue[]): string {
  const lines = issues.map(({ path: [, , path, name], code, message }) => {
    const result = code === "option_invalid" ? "Its rule is []: any valid token." : "It has no rule.";
    return `  ${String(name).toUpperCase()} ${path} ${message} ${result}`;
  });
  return `Check the rules of ${issues.length} operations, or complete the document:\n${lines.join("\n")}`;
}

const ACTIONS = ["write", "check", "import"];
