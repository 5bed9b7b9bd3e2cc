/** The tools, prompts and resources that the conformance suites call, for both versions of the official SDK. */

export type Json = Readonly<Record<string, unknown>>;

/** The request that a tool or method handles. */
export interface Call {
  readonly progressToken: unknown;
  /** The capabilities of the client, in revision 2026-07-28. */
  readonly capabilities: Json;
  /** The client's responses to an earlier `input_required` result, and the state of that result. */
  readonly inputResponses: Json;
  readonly requestState: unknown;
  readonly notify: (method: string, params: Json) => Promise<void>;
  readonly log: (data: string) => Promise<void>;
  /** Sends a request to the client. Revision 2026-07-28 has no such requests. */
  readonly ask: (method: string, params: Json) => Promise<Json>;
  /** Ends the stream of the response, so that the client must reconnect. */
  readonly closeStream: () => void;
  /** Notifies the subscribers that a list has changed. */
  readonly publishChange: (list: "tools" | "prompts") => void;
}

type Handler = (params: Json, call: Call) => Json | Promise<Json>;

export interface Tool {
  readonly inputSchema: Json;
  readonly run: Handler;
}

const DATA = Buffer.from("data").toString("base64");
const IMAGE = { type: "image", data: DATA, mimeType: "image/png" };
const textOf = (text: string) => ({ type: "text", text });
const resourceOf = (uri: string) => ({ uri, mimeType: "text/plain", text: `The content of ${uri}` });
const embed = (uri: string) => ({ type: "resource", resource: resourceOf(uri) });
const schemaOf = (properties: Json, required: readonly string[] = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});

const NO_ARGUMENTS = schemaOf({});
const DONE = { content: [textOf("state-ok")] };

const tool = (run: Handler, inputSchema: Json = NO_ARGUMENTS): Tool => ({ run, inputSchema });
const returns = (...content: readonly Json[]): Tool => tool(() => ({ content }));

const elicit = (property: string, type = "string") => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: `What is the ${property}?`,
    requestedSchema: schemaOf({ [property]: { type } }),
  },
});
const sample = (prompt: string) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: textOf(prompt) }], maxTokens: 100 },
});
const ROOTS = { method: "roots/list", params: {} };

/** The values of `requestState`. Servers must refuse all others. */
export const STATES: readonly unknown[] = ["first", "second"];

/** Returns `result` if the client has responded to all requests, or else asks for the responses. */
function requireInput(
  inputRequests: Json,
  { inputResponses }: Call,
  result: Json,
  requestState?: string,
): Json {
  const isComplete = Object.keys(inputRequests).every((key) => typeof inputResponses[key] === "object");
  if (isComplete) return result;
  const state = requestState === undefined ? {} : { requestState };
  return { resultType: "input_required", inputRequests, ...state };
}

const needs = (inputRequests: Json, requestState?: string): Tool =>
  tool((_, call) => requireInput(inputRequests, call, DONE, requestState));

/** A tool that shows a form with these fields to the user. */
const showsForm = (fields: Json, inputSchema?: Json): Tool =>
  tool(async ({ message = "A form" }, { ask }) => {
    const response = await ask("elicitation/create", { message, requestedSchema: schemaOf(fields) });
    return { content: [textOf(JSON.stringify(response))] };
  }, inputSchema);

const OPTIONS = ["option1", "option2", "option3"];
const TITLED_OPTIONS = [
  { const: "value1", title: "First" },
  { const: "value2", title: "Second" },
];

/** Some scenarios call the first tool without arguments. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  test_simple_text: returns(textOf("This is a simple text response for testing.")),
  test_image_content: returns(IMAGE),
  test_audio_content: returns({ type: "audio", data: DATA, mimeType: "audio/wav" }),
  test_embedded_resource: returns(embed("test://embedded-resource")),
  test_multiple_content_types: returns(
    textOf("Several types"),
    IMAGE,
    embed("test://mixed-content-resource"),
  ),
  test_error_handling: tool(() => ({ isError: true, content: [textOf("This tool always fails.")] })),
  test_tool_with_logging: tool(async (_, { log }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"])
      await log(data);
    return DONE;
  }),
  test_logging_tool: tool(async (_, { log }) => {
    await log("Nobody asked for this message.");
    return DONE;
  }),
  test_tool_with_progress: tool(async (_, { notify, progressToken }) => {
    for (const progress of [0, 50, 100])
      await notify("notifications/progress", { progressToken, progress, total: 100 });
    return DONE;
  }),
  test_sampling: tool(
    async ({ prompt }, { ask }) => {
      const { method, params } = sample(String(prompt));
      return { content: [textOf(JSON.stringify(await ask(method, params)))] };
    },
    schemaOf({ prompt: { type: "string" } }),
  ),
  test_elicitation: showsForm(
    { username: { type: "string" }, email: { type: "string" } },
    schemaOf({ message: { type: "string" } }),
  ),
  test_elicitation_sep1034_defaults: showsForm({
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  }),
  test_elicitation_sep1330_enums: showsForm({
    untitledSingle: { type: "string", enum: OPTIONS },
    titledSingle: { type: "string", oneOf: TITLED_OPTIONS },
    legacyEnum: { type: "string", enum: OPTIONS, enumNames: ["One", "Two", "Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
    titledMulti: { type: "array", items: { anyOf: TITLED_OPTIONS } },
  }),
  test_reconnection: tool((_, { closeStream }) => {
    closeStream();
    return DONE;
  }),
  json_schema_2020_12_tool: tool(() => DONE, {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: { address: { $anchor: "addressDef", ...schemaOf({ street: { type: "string" } }) } },
    ...schemaOf(
      { address: { $ref: "#/$defs/address" }, phone: { type: "string" }, email: { type: "string" } },
      [],
    ),
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { required: ["address"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }),
  test_headers: tool(() => DONE, schemaOf({ region: { type: "string", "x-mcp-header": "Region" } })),
  test_trigger_tool_change: tool((_, { publishChange }) => {
    publishChange("tools");
    return DONE;
  }),
  test_trigger_prompt_change: tool((_, { publishChange }) => {
    publishChange("prompts");
    return DONE;
  }),
  test_missing_capability: needs({ answer: sample("A question") }),
  test_streaming_elicitation: needs({ user_name: elicit("name") }),
  test_input_required_result_elicitation: needs({ user_name: elicit("name") }),
  test_input_required_result_sampling: needs({ capital_question: sample("What is the capital of France?") }),
  test_input_required_result_list_roots: needs({ client_roots: ROOTS }),
  test_input_required_result_request_state: needs({ confirm: elicit("ok", "boolean") }, "first"),
  test_input_required_result_tampered_state: needs({ confirm: elicit("ok", "boolean") }, "first"),
  test_input_required_result_multiple_inputs: needs(
    { user_name: elicit("name"), greeting: sample("Generate a greeting"), client_roots: ROOTS },
    "first",
  ),
  test_input_required_result_multi_round: tool((_, call) =>
    call.requestState === undefined
      ? requireInput({ step1: elicit("name") }, call, DONE, "first")
      : requireInput({ step2: elicit("color") }, call, DONE, "second"),
  ),
  test_input_required_result_capabilities: tool((_, call) => {
    const requests = { sampling: sample("A question"), elicitation: elicit("name"), roots: ROOTS };
    const supported = Object.entries(requests).filter(([capability]) => capability in call.capabilities);
    return requireInput(Object.fromEntries(supported), call, DONE);
  }),
};

const fromUser = (content: Json) => ({ role: "user", content });

interface Prompt {
  /** The names of its arguments. */
  readonly parameters?: readonly string[];
  readonly get: Handler;
}

export const PROMPTS: Readonly<Record<string, Prompt>> = {
  test_simple_prompt: { get: () => ({ messages: [fromUser(textOf("This is a simple prompt."))] }) },
  test_prompt_with_arguments: {
    parameters: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => ({ messages: [fromUser(textOf(JSON.stringify({ arg1, arg2 })))] }),
  },
  test_prompt_with_embedded_resource: {
    parameters: ["resourceUri"],
    get: ({ resourceUri }) => ({ messages: [fromUser(embed(String(resourceUri)))] }),
  },
  test_prompt_with_image: { get: () => ({ messages: [fromUser(IMAGE)] }) },
  test_input_required_result_prompt: {
    get: (_, call) =>
      requireInput({ user_context: elicit("context") }, call, { messages: [fromUser(textOf("A prompt"))] }),
  },
};

const BINARY = { uri: "test://static-binary", mimeType: "image/png", blob: DATA };

/** The resources that the suites read or subscribe to, and the template, as in keys of a table. */
export const RESOURCES = [
  "test://static-text",
  BINARY.uri,
  "test://template/{id}/data",
  "test://watched-resource",
];

function readResource(uri: string): Json | undefined {
  if (uri === BINARY.uri) return { contents: [BINARY] };
  const isText = uri === "test://static-text" || /^test:\/\/template\/\w+\/data$/.test(uri);
  return isText ? { contents: [resourceOf(uri)] } : undefined;
}

/** Returns `undefined` for what does not exist. */
type Method = (params: Json, call: Call) => ReturnType<Handler> | undefined;

/** The methods that the servers handle. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["tools/list", () => ({ tools: listOf(TOOLS, ({ inputSchema }) => ({ inputSchema })) })],
  ["tools/call", ({ name, arguments: args }, call) => TOOLS[String(name)]?.run(Object(args) as Json, call)],
  [
    "prompts/list",
    () => ({
      prompts: listOf(PROMPTS, ({ parameters = [] }) => ({
        arguments: parameters.map((name) => ({ name, required: true })),
      })),
    }),
  ],
  [
    "prompts/get",
    ({ name, arguments: args }, call) => PROMPTS[String(name)]?.get(Object(args) as Json, call),
  ],
  [
    "resources/list",
    () => ({ resources: ["test://static-text", BINARY.uri].map((uri) => ({ name: uri, uri })) }),
  ],
  [
    "resources/templates/list",
    () => ({ resourceTemplates: [{ name: "data", uriTemplate: "test://template/{id}/data" }] }),
  ],
  ["resources/read", ({ uri }) => readResource(String(uri))],
  ["resources/subscribe", () => ({})],
  ["resources/unsubscribe", () => ({})],
  ["completion/complete", () => ({ completion: { values: ["paris", "park", "party"] } })],
]);

const listOf = <T>(entries: Readonly<Record<string, T>>, describe: (entry: T) => Json): readonly Json[] =>
  Object.entries(entries).map(([name, entry]) => ({ name, description: name, ...describe(entry) }));
