/** The JSON-RPC messages in a body, and the operations that they call. */
import { isUtf8 } from "node:buffer";
import { orUndefined } from "../../core/errors.ts";
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import { ownProperty } from "../../core/request.ts";
import {
  COMPLETION,
  isHousekeeping,
  type OperationMethods,
} from "../../capabilities/mcp-operations/operation-methods.ts";
import { hasOtherSpelling } from "../../capabilities/mcp-operations/other-spelling.ts";
import { isObject, isOnlyReading, isText, type Json, readMarks } from "../../core/runtime/json.ts";
import { withoutFractions } from "./fractions.ts";
import { INVALID, type Invalid, withId } from "./invalid.ts";

/** An operation that a message calls. */
export interface Call extends Operation {
  /** Where the message has its name: the path in `params`. Absent for a call without a name. */
  readonly nameAt?: readonly (string | number)[];
}

/** One message: a response of the client has no method. */
export interface Message {
  readonly method?: string;
  /** The value that the header `Mcp-Name` must have. */
  readonly name?: string | undefined;
  /** The ids of the tasks that the message is about. */
  readonly taskIds: readonly string[];
  /**
   * Whether the message is of revision 2026-07-28 or later, which has no sessions and responds to unknown
   * methods with 404.
   */
  readonly isStateless: boolean;
  /** Empty for the protocol's housekeeping and for responses. */
  readonly calls: readonly Call[];
}

/** A body that was read. */
export interface Messages {
  readonly kind: "messages";
  /** The parsed body, for the handler: it must not be parsed again. `undefined` for a request without one. */
  readonly body: object | undefined;
  /** The body as it was received; `undefined` if an earlier parser has parsed it. */
  readonly bytes: Buffer | undefined;
  readonly messages: readonly Message[];
  /** The calls of all messages, and the tasks that they are about. */
  readonly calls: readonly Call[];
  readonly taskIds: readonly string[];
}

const MAX_BATCH = 100;

/** Each operation is compared with the table, so a batch must not multiply the subscriptions of a message. */
const MAX_BATCH_SUBSCRIPTIONS = 32;
const MAX_URI_CHARACTERS = 16_384;

/** Longer URIs are refused, as longer paths are. */
const MAX_URI = 8_192;

/** What else determines how a message is read. */
export interface ReadContext {
  readonly methods: OperationMethods;
  /** The header `MCP-Protocol-Version`. */
  readonly revision: string | undefined;
}

/**
 * Parses a body, and refuses one that another parser might read differently: handlers receive the value that
 * was checked, and its bytes.
 */
export function parseMessages(bytes: Buffer, context: ReadContext): Messages | Invalid {
  // Faster than a TextDecoder, which makes strings of two bytes for each character.
  const value = isUtf8(bytes) ? orUndefined((): unknown => JSON.parse(bytes.toString())) : undefined;
  if (typeof value !== "object" || value === null)
    return value === undefined ? INVALID.syntax : INVALID.message;
  const marks = readMarks(bytes);
  if (!isOnlyReading(value, bytes, marks)) return INVALID.syntax;
  // For the table, such a number isn't an integer: code that reads the bytes may not read it as one.
  const checked = marks.hasFraction ? (JSON.parse(withoutFractions(bytes).toString()) as object) : value;
  return readMessages(value, context, bytes, checked);
}

/** `checked` is read in place of the body that handlers receive. */
export function readMessages(
  body: object,
  context: ReadContext,
  bytes?: Buffer,
  checked = body,
): Messages | Invalid {
  if (!Array.isArray(checked)) {
    const message = readMessage(checked, context);
    if ("kind" in message) return withId(message, idOf(body));
    const { calls, taskIds } = message;
    if (hasLongUris(calls)) return INVALID.message;
    return { kind: "messages", body, bytes, messages: [message], calls, taskIds };
  }
  if (checked.length === 0 || checked.length > MAX_BATCH) return INVALID.message;
  const messages: Message[] = [];
  for (const entry of checked) {
    const message = readMessage(entry, context);
    // The error refuses all messages of the batch, so it has no id.
    if ("kind" in message) return message;
    messages.push(message);
  }
  if (messages.length > 1 && countSubscriptions(messages) > MAX_BATCH_SUBSCRIPTIONS) return INVALID.message;
  const calls = messages.flatMap((message) => message.calls);
  const taskIds = messages.flatMap((message) => message.taskIds);
  return hasLongUris(calls) ? INVALID.message : { kind: "messages", body, bytes, messages, calls, taskIds };
}

const countSubscriptions = (messages: readonly Message[]): number =>
  messages.filter(isSubscription).reduce((sum, { calls }) => sum + calls.length, 0);

const isSubscription = ({ method }: Message): boolean =>
  method === "subscriptions/listen" || method === "resources/subscribe";

/** Returns whether the URIs of several operations are too long together. */
const hasLongUris = (calls: readonly Operation[]): boolean =>
  calls.length > 1 && calls.reduce(addUri, 0) > MAX_URI_CHARACTERS;

const addUri = (sum: number, { method, name = "" }: Operation): number =>
  sum + (method.startsWith("resources/") ? name.length : 0);

/** Returns the id of a request; `undefined` for anything else. */
export function idOf(entry: unknown): string | number | undefined {
  const id = isObject(entry) ? ownProperty(entry, "id") : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Returns an own property that is an object. */
export function ownObject(object: Json, name: string): Json | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "object" && value !== null ? (value as Json) : undefined;
}

const NONE: Json = {};

/** The properties that decide. Some servers also read `Method` as `method` (CVE-2026-27896). */
const MESSAGE_NAMES = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARAMETER_NAMES = new Set([
  "name",
  "uri",
  "arguments",
  "ref",
  "argument",
  "context",
  "task",
  "taskId",
  "notifications",
  "_meta",
]);
const REFERENCE_NAMES = new Set(["type", "name", "uri"]);
const ARGUMENT_NAMES = new Set(["name", "value"]);
const CONTEXT_NAMES = new Set(["arguments"]);
const SUBSCRIPTION_NAMES = new Set(["resourceSubscriptions"]);

function readMessage(entry: unknown, { methods, revision }: ReadContext): Message | Invalid {
  if (!isObject(entry) || ownProperty(entry, "jsonrpc") !== "2.0") return INVALID.message;
  if (hasOtherSpelling(entry, MESSAGE_NAMES)) return INVALID.spelling;
  const isResponse = Object.hasOwn(entry, "result") || Object.hasOwn(entry, "error");
  if (isResponse === Object.hasOwn(entry, "method")) return INVALID.message;
  if (isResponse) {
    const taskIds = relatedTask(ownProperty(entry, "result"));
    return taskIds ? { isStateless: isStatelessRevision(revision), taskIds, calls: [] } : INVALID.message;
  }
  const method = ownProperty(entry, "method");
  const params = ownProperty(entry, "params") ?? NONE;
  if (typeof method !== "string" || !isObject(params)) return INVALID.message;
  if (hasOtherSpelling(params, PARAMETER_NAMES)) return INVALID.spelling;
  const meta = ownProperty(params, "_meta");
  const isStateless =
    isStatelessRevision(revision) || (isObject(meta) && isStatelessRevision(ownProperty(meta, REVISION)));
  // The revision has removed this method, so it's not known which parameter is its name.
  if (isStateless && !methods.isStateless(method)) return INVALID.method;
  const relatedIds = relatedTask(params);
  if (!relatedIds) return INVALID.name;
  const content = readContent(method, params, methods);
  if ("kind" in content) return content;
  const { name, calls, taskIds: ownIds } = content;
  return { method, name, isStateless, taskIds: ownIds ? [...relatedIds, ...ownIds] : relatedIds, calls };
}

/** What a request or notification is about. */
type Content = Pick<Message, "name" | "calls"> & Partial<Pick<Message, "taskIds">>;

function readContent(method: string, params: Json, methods: OperationMethods): Content | Invalid {
  const operationMethod = methods.get(method);
  if (operationMethod?.nameParameter !== undefined)
    return readNamedCall(method, operationMethod.nameParameter, params);
  if (!/^\S+$/.test(method)) return INVALID.message;
  if (isHousekeeping(method)) return { calls: [] };
  if (method === COMPLETION) {
    const call = readCompletion(params);
    return call ? { name: call.name, calls: [call] } : INVALID.name;
  }
  const call: Operation = { method, parameters: NONE };
  if (operationMethod && method.startsWith("tasks/") && method !== "tasks/list") {
    const taskId = ownProperty(params, "taskId");
    return isText(taskId) ? { name: taskId, taskIds: [taskId], calls: [call] } : INVALID.name;
  }
  const subscriptions = method === "subscriptions/listen" ? readSubscriptions(params) : [];
  return subscriptions ? { calls: [call, ...subscriptions] } : INVALID.name;
}

function readNamedCall(method: string, nameParameter: string, params: Json): Content | Invalid {
  const isDeclared = !PARAMETER_NAMES.has(nameParameter);
  if (isDeclared && hasOtherSpelling(params, new Set([nameParameter]))) return INVALID.spelling;
  const name = ownProperty(params, nameParameter);
  if (!isText(name) || (nameParameter === "uri" && !isUri(name))) return INVALID.name;
  const callArguments = ownProperty(params, "arguments");
  const parameters = isObject(callArguments) ? callArguments : NONE;
  return { name, calls: [{ method, name, parameters, nameAt: [nameParameter] }] };
}

/** The property of `_meta` that relates a message to a task: servers deliver it in the stream of the task. */
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Returns the task that a message is related to; `undefined` if it can't be read. */
function relatedTask(paramsOrResult: unknown): readonly string[] | undefined {
  const meta = isObject(paramsOrResult) ? ownProperty(paramsOrResult, "_meta") : undefined;
  const related = isObject(meta) ? ownProperty(meta, RELATED_TASK) : undefined;
  if (related === undefined) return [];
  const taskId = isObject(related) ? ownProperty(related, "taskId") : undefined;
  return isText(taskId) ? [taskId] : undefined;
}

/** The first revision without sessions. */
const STATELESS = "2026-07-28";

/** The property of `_meta` with the revision of a request. */
const REVISION = "io.modelcontextprotocol/protocolVersion";

const isStatelessRevision = (revision: unknown): boolean =>
  typeof revision === "string" && /^\d{4}-\d\d-\d\d$/.test(revision) && revision >= STATELESS;

/** A subscription to a resource needs the rule that reads the resource. */
function readSubscriptions(params: Json): readonly Call[] | undefined {
  const notifications = ownProperty(params, "notifications") ?? NONE;
  if (!isObject(notifications) || hasOtherSpelling(notifications, SUBSCRIPTION_NAMES)) return undefined;
  const uris = ownProperty(notifications, "resourceSubscriptions") ?? [];
  if (!Array.isArray(uris) || uris.length > MAX_BATCH || !uris.every(isUri)) return undefined;
  const nameAt = (index: number) => ["notifications", "resourceSubscriptions", index];
  return uris.map((name, index) => ({
    method: "resources/read",
    name,
    parameters: NONE,
    nameAt: nameAt(index),
  }));
}

/**
 * A completion needs the rule for its prompt or resource template. The argument that is completed has no
 * value yet: a server may offer every value, so a scope with this argument must be granted for all of them.
 */
function readCompletion(params: Json): (Call & { readonly name: string }) | undefined {
  const ref = ownProperty(params, "ref");
  if (!isObject(ref) || hasOtherSpelling(ref, REFERENCE_NAMES)) return undefined;
  // Servers choose the property by the type.
  const isPrompt = ownProperty(ref, "type") === "ref/prompt";
  if (!isPrompt && ownProperty(ref, "type") !== "ref/resource") return undefined;
  const property = isPrompt ? "name" : "uri";
  const name = ownProperty(ref, property);
  if (!isText(name) || (!isPrompt && !isUri(name))) return undefined;
  const argument = ownProperty(params, "argument") ?? NONE;
  const context = ownProperty(params, "context") ?? NONE;
  if (!isObject(argument) || hasOtherSpelling(argument, ARGUMENT_NAMES)) return undefined;
  if (!isObject(context) || hasOtherSpelling(context, CONTEXT_NAMES)) return undefined;
  const completed = ownProperty(argument, "name");
  const otherArguments = ownProperty(context, "arguments");
  const parameters = Object.fromEntries(
    Object.entries(isObject(otherArguments) ? otherArguments : NONE).filter(([key]) => key !== completed),
  );
  const method = isPrompt ? "prompts/get" : "resources/read";
  return { method, name, parameters, isPartial: true, nameAt: ["ref", property] };
}

/** A URI has none of the characters that patterns use as placeholders. */
const isUri = (value: unknown): value is string =>
  isText(value) && value.length <= MAX_URI && !/[\uE000-\uE002]/.test(value);
