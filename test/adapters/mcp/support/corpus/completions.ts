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
  (template) => `${template}/{x}`,
  (template) => `${template}x`,
  (template) => `${template} `,
  (template) => ` ${template}`,
  (template) => `${template}\n`,
  (template) => `${template}\u0000`,
  (template) => `${template}?x`,
  (template) => template.replace("://", ":\\\\"),
  (template) => template.replace("///", "//localhost/"),
  (template) => template.replace("///", "///x/../"),
  (template) => template.replace("private", "%70rivate"),
  (template) => template.replace("private", "x/../private"),
  (template) => template.replace("private", "{dir}"),
];

/** A `ref` that refers to nothing, or to two things. */
const WRONG: readonly unknown[] = [
  ...[undefined, null, "", "review", "ref/prompt", 1, true, [], ["review"], {}, { name: "review" }],
  ...[
    { uri: "file:///{+path}" },
    { type: "ref/prompt" },
    { type: "ref/resource" },
    { type: "prompt", name: "x" },
  ],
  ...[
    { type: "ref/Prompt", name: "hello" },
    { type: "REF/PROMPT", name: "hello" },
  ],
  ...[
    { type: "ref/prompt ", name: "hello" },
    { type: "ref/tool", name: "docs_read" },
  ],
  ...[
    { type: ["ref/prompt"], name: "hello" },
    { type: null, name: "hello" },
    { type: "__proto__", name: "hello" },
  ],
  ...["", null, 1, ["hello"], {}, { toString: "hello" }].flatMap((value) => [
    ofPrompt(value),
    ofResource(value),
  ]),
  ...[ofPrompt(undefined, { uri: "file:///{+path}" }), ofResource(undefined, { name: "hello" })],
  ...[ofPrompt("hello", { Name: "review" }), ofPrompt("hello", { NAME: "review" })],
  ...[ofPrompt("hello", { Type: "ref/resource" }), ofPrompt("hello", { URI: "payroll://{month}" })],
  ...[
    ofResource("file:///{+path}", { Uri: "payroll://{month}" }),
    ofResource("file:///{+path}", { TYPE: "x" }),
  ],
  ...[
    { Type: "ref/prompt", Name: "hello" },
    { type: "ref/prompt", Name: "hello" },
  ],
  ofResource(`file:///{+path}${"a".repeat(8192)}`),
];

/** `argument` in other forms: what is completed is then not known. */
const ARGUMENTS: readonly unknown[] = [
  ...[
    undefined,
    null,
    "agent_id",
    [],
    {},
    { name: "" },
    { name: null },
    { name: ["agent_id"] },
    { value: "web" },
  ],
  ...[
    { name: "AGENT_ID", value: "" },
    { name: "agent_id ", value: "" },
    { name: "__proto__", value: "" },
  ],
  ...[
    { name: "constructor", value: "" },
    { name: "toString", value: "" },
    { name: "agent_id", value: {} },
  ],
];

const PROMPTS = [
  ...["hello", "review", "other", "Review", "review ", "__proto__", "constructor", "toString", "*"],
];

export const COMPLETION_CASES: readonly Hostile[] = [
  ...COLLEAGUES.flatMap((caller) =>
    CONTEXTS.flatMap((context) => {
      const shown = `with ${JSON.stringify(context)}`;
      return [
        ...["agent_id", "note"].map((argument) =>
          probe(
            `${caller} completes ${argument} of review ${shown}`,
            caller,
            complete(ofPrompt("review"), argument, context),
          ),
        ),
        ...TEMPLATES.flatMap(([uri, ...variables]) =>
          variables.map((variable) =>
            probe(
              `${caller} completes ${variable} of ${uri} ${shown}`,
              caller,
              complete(ofResource(uri), variable, context),
            ),
          ),
        ),
      ];
    }),
  ),
  ...(["clerk", "director"] as const).flatMap((caller) =>
    TEMPLATES.flatMap(([uri, variable]) =>
      SPELLINGS.flatMap((change, index) =>
        change(uri) === uri
          ? []
          : probe(
              `${caller} completes ${JSON.stringify(change(uri))}, spelling ${index}`,
              caller,
              complete(ofResource(change(uri)), variable, CONTEXTS[2]),
            ),
      ),
    ),
  ),
  ...(["clerk", "director"] as const).flatMap((sender) =>
    WRONG.map((ref, index) =>
      refusal(
        `${sender} completes the wrong ref ${index}, ${JSON.stringify({ ref }).slice(0, 60)}`,
        400,
        complete(ref, "agent_id", { agent_id: "web" }),
        { sender },
      ),
    ),
  ),
  ...ARGUMENTS.map((argument) =>
    probe(
      `completes the argument ${JSON.stringify(argument)}`,
      "clerk",
      complete(ofPrompt("review"), "", undefined, { argument }),
    ),
  ),
  ...ARGUMENTS.map((argument) =>
    probe(
      `completes the argument ${JSON.stringify(argument)} for web`,
      "clerk",
      complete(ofPrompt("review"), "", { agent_id: "web" }, { argument }),
    ),
  ),
  ...COLLEAGUES.flatMap((caller) =>
    PROMPTS.flatMap((name) => [
      probe(`${caller} completes ${name}`, caller, complete(ofPrompt(name), "note", { agent_id: "api" })),
      probe(
        `${caller} gets ${name} for api`,
        caller,
        message("prompts/get", { name, arguments: { agent_id: "api" } }),
      ),
      probe(
        `${caller} gets ${name} for web`,
        caller,
        message("prompts/get", { name, arguments: { agent_id: "web" } }),
      ),
      probe(`${caller} gets ${name}`, caller, message("prompts/get", { name })),
    ]),
  ),
];
