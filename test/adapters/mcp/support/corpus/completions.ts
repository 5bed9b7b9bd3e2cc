/** Completions: what they refer to in every form, and arguments that are missing or in `context`. */
import { type Hostile, message, probe, refusal } from "./hostile.ts";
import { COMPANY_SCOPES, type Colleague } from "../company.ts";

const COLLEAGUES = Object.keys(COMPANY_SCOPES) as Colleague[];

const complete = (ref: unknown, name: unknown, given?: unknown, more: object = {}) =>
  message("completion/complete", {
    ref,
    argument: { name, value: "" },
    ...(given !== undefined && { context: { arguments: given } }),
    ...more,
  });

const ofPrompt = (name: unknown, more: object = {}) => ({ type: "ref/prompt", name, ...more });
const ofResource = (uri: unknown, more: object = {}) => ({ type: "ref/resource", uri, ...more });

const TEMPLATES: readonly (readonly [uri: string, ...variables: readonly string[]])[] = [
  ["payroll://{month}", "month"],
  ["tenant://{tenant}/{record}", "tenant", "record"],
  ["notes://list{?team,author}", "team", "author"],
  ["file:///{+path}", "path"],
  ["file:///private/{+path}", "path"],
];

/** Values of the context: some of them are what `clerk` may use. */
const CONTEXTS: readonly unknown[] = [
  undefined,
  {},
  ...[{ month: "may", tenant: "acme", author: "ann", path: "public/a", agent_id: "web" }],
  ...[{ month: "june", tenant: "globex", author: "bob", path: "private/a", agent_id: "api" }],
  ...[{ MONTH: "may", Tenant: "acme", AUTHOR: "ann", Agent_Id: "web" }],
  ...[{ tenant: "acme", Tenant: "globex", author: "ann", AUTHOR: "bob", agent_id: "web", AGENT_ID: "api" }],
  ...[
    { tenant: ["acme"], author: ["ann"], agent_id: ["web"] },
    { tenant: "", author: "", agent_id: "" },
  ],
  ...[
    { tenant: "ACME", author: "Ann", agent_id: "WEB" },
    { tenant: "%61cme", author: "a,nn", agent_id: "we%62" },
  ],
  ...[[], ["acme"], "acme", 1, null, true, { __proto__: null, constructor: { tenant: "acme" } }],
];

/** Writes something else from the first brace on. */
function inPlaceOfVariables(written: string): (template: string) => string {
  return (template) => template.slice(0, template.indexOf("{")) + written;
}

/** Other spellings of a template. */
const SPELLINGS: readonly ((template: string) => string)[] = [
  (template) => template.toUpperCase(),
  ...[
    "{other}",
    "{+month}",
    "{+path}",
    "{?month}",
    "{/month}",
    "{#month}",
    "{path}",
    "{month*}",
    "{month:3}",
  ].map(inPlaceOfVariables),
  ...[
    "{month,x}",
    "{ month}",
    "%7Bmonth%7D",
    "{{month}",
    "{month",
    "month}",
    "",
    "{}",
    "<month>",
    ":month",
  ].map(inPlaceOfVariables),
  ...["*", "may", "{__proto__}", "{+path}{+rest}"].map(inPlaceOfVariables),
  ...["/{x}", "x", " ", "\n", "\u0000", "?x"].map((end) => (template: string) => template + end),
  (template) => ` ${template}`,
  ...[
    ["://", ":\\\\"],
    ["///", "//localhost/"],
    ["///", "///x/../"],
    ["private", "%70rivate"],
    ["private", "x/../private"],
    ["private", "{dir}"],
  ].map(
    ([from = "", to = ""]) =>
      (template: string) =>
        template.replace(from, to),
  ),
];

/** A `ref` that refers to nothing, or to two things. */
const WRONG: readonly unknown[] = [
  ...[undefined, null, "", "review", "ref/prompt", 1, true, [], ["review"], {}, { name: "review" }],
  ...[{ uri: "file:///{+path}" }, { type: "ref/prompt" }, { type: "ref/resource" }],
  { type: "prompt", name: "x" },
  ...["ref/Prompt", "REF/PROMPT", "ref/prompt ", ["ref/prompt"], null, "__proto__"].map((type) =>
    ofPrompt("hello", { type }),
  ),
  { type: "ref/tool", name: "docs_read" },
  ...["", null, 1, ["hello"], {}, { toString: "hello" }].flatMap((value) => [
    ofPrompt(value),
    ofResource(value),
  ]),
  ...[ofPrompt(undefined, { uri: "file:///{+path}" }), ofResource(undefined, { name: "hello" })],
  ...[{ Name: "review" }, { NAME: "review" }, { Type: "ref/resource" }, { URI: "payroll://{month}" }].map(
    (more) => ofPrompt("hello", more),
  ),
  ...[{ Uri: "payroll://{month}" }, { TYPE: "x" }].map((more) => ofResource("file:///{+path}", more)),
  ...["Type", "type"].map((key) => ({ [key]: "ref/prompt", Name: "hello" })),
  ofResource(`file:///{+path}${"a".repeat(8192)}`),
];

/** `argument` in other forms: what is completed is then not known. */
const ARGUMENTS: readonly unknown[] = [
  ...[undefined, null, "agent_id", [], {}, { name: "" }, { name: null }, { name: ["agent_id"] }],
  { value: "web" },
  ...["AGENT_ID", "agent_id ", "__proto__", "constructor", "toString"].map((name) => ({ name, value: "" })),
  { name: "agent_id", value: {} },
];

const PROMPTS = [
  ...["hello", "review", "other", "Review", "review ", "__proto__", "constructor", "toString", "*"],
];

export const COMPLETION_CASES: readonly Hostile[] = [
  ...COLLEAGUES.flatMap((caller) =>
    CONTEXTS.flatMap((context) => [
      ...["agent_id", "note"].map((argument) =>
        probe("completes an argument", caller, complete(ofPrompt("review"), argument, context)),
      ),
      ...TEMPLATES.flatMap(([uri, ...variables]) =>
        variables.map((variable) =>
          probe("completes a variable", caller, complete(ofResource(uri), variable, context)),
        ),
      ),
    ]),
  ),
  ...(["clerk", "director"] as const).flatMap((caller) => [
    ...TEMPLATES.flatMap(([uri, variable]) =>
      SPELLINGS.map((change) => change(uri))
        .filter((spelled) => spelled !== uri)
        .map((spelled) =>
          probe("completes a spelling", caller, complete(ofResource(spelled), variable, CONTEXTS[2])),
        ),
    ),
    ...WRONG.map((ref) =>
      refusal("completes a wrong ref", 400, complete(ref, "agent_id", { agent_id: "web" }), {
        sender: caller,
      }),
    ),
  ]),
  ...[undefined, { agent_id: "web" }].flatMap((context) =>
    ARGUMENTS.map((argument) =>
      probe("completes another argument", "clerk", complete(ofPrompt("review"), "", context, { argument })),
    ),
  ),
  ...COLLEAGUES.flatMap((caller) =>
    PROMPTS.flatMap((name) => [
      probe("completes a prompt", caller, complete(ofPrompt(name), "note", { agent_id: "api" })),
      ...[{ arguments: { agent_id: "api" } }, { arguments: { agent_id: "web" } }, {}].map((more) =>
        probe("gets a prompt", caller, message("prompts/get", { name, ...more })),
      ),
    ]),
  ),
];
