/** The JSON-RPC messages in a body, the operations that they call, and the headers that repeat them. */
import { isUtf8 } from "node:buffer";
import type { ReadHeader } from "./body.ts";
import { orUndefined } from "../../core/errors.ts";
import { isHousekeeping, isNamed, type Operation } from "../../core/policy/operation.ts";
import { isOnlyReading } from "../../core/runtime/json.ts";
import { INVALID, type Invalid } from "./invalid.ts";
import type { Json } from "./lists.ts";

/** One message: a response of the client has no method. `name` is what the header `Mcp-Name` must say. */
export interface Message {
  readonly method?: string;
  readonly name?: string;
  /** None for the protocol's housekeeping and for responses. */
  readonly calls: readonly Operation[];
}

/** A body that was read. */
export interface Messages {
  readonly kind: "messages";
  /** The parsed body, for the handler: it must not be parsed again. `undefined` for a request without one. */
  readonly body: object | undefined;
  /** The body as it was received; `undefined` if an earlier parser has parsed it. */
  readonly bytes: Buffer | undefined;
  readonly messages: readonly Message[];
}

const MAX_BATCH = 100;

/** Parses a body once. Refuses what another parser might read in another way. */
export function parseMessages(bytes: Buffer): Messages | Invalid {
  // Faster than a TextDecoder, which makes strings of two bytes for each character.
  const value = isUtf8(bytes) ? orUndefined((): unknown => JSON.parse(bytes.toString())) : undefined;
  if (typeof value !== "object" || value === null)
    return value === undefined ? INVALID.syntax : INVALID.message;
  return isOnlyReading(value, bytes) ? readMessages(value, bytes) : INVALID.syntax;
}

export function readMessages(body: object, bytes?: Buffer): Messages | Invalid {
  const entries: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (entries.length === 0 || entries.length > MAX_BATCH) return INVALID.message;
  const messages: Message[] = [];
  for (const entry of entries) {
    const message = readMessage(entry);
    // With several messages, the error refuses all of them, so it has no id.
    if ("kind" in message) return entries.length === 1 ? withId(message, entry) : message;
    messages.push(message);
  }
  return { kind: "messages", body, bytes, messages };
}

function readMessage(entry: unknown): Message | Invalid {
  if (!isObject(entry) || ownProperty(entry, "jsonrpc") !== "2.0") return INVALID.message;
  const { method } = entry;
  const isAnswer = Object.hasOwn(entry, "result") || Object.hasOwn(entry, "error");
  if (!Object.hasOwn(entry, "method")) return isAnswer ? { calls: [] } : INVALID.message;
  if (isAnswer || typeof method !== "string" || !/^\S+$/.test(method)) return INVALID.message;
  const params = ownProperty(entry, "params") ?? {};
  if (!isObject(params)) return INVALID.message;
  if (isNamed(method)) {
    const name = readName(method, params);
    if (!isName(name)) return INVALID.name;
    const parameters = ownProperty(params, "arguments");
    return {
      method,
      name,
      calls: [{ text: `${method} ${name}`, parameters: isObject(parameters) ? parameters : {} }],
    };
  }
  const name = ownProperty(params, "taskId");
  const named = isName(name) ? { method, name } : { method };
  if (isHousekeeping(method)) return { ...named, calls: [] };
  const subscriptions = method === "subscriptions/listen" ? readSubscriptions(params) : [];
  if (!subscriptions) return INVALID.name;
  return { ...named, calls: [{ text: method, parameters: {} }, ...subscriptions] };
}

/** A subscription to a resource needs the rule that `resources/subscribe` needs for it. */
function readSubscriptions(params: Json): readonly Operation[] | undefined {
  const notifications = ownProperty(params, "notifications") ?? {};
  const uris = isObject(notifications)
    ? (ownProperty(notifications, "resourceSubscriptions") ?? [])
    : undefined;
  if (!Array.isArray(uris) || uris.length > MAX_BATCH || !uris.every(isName)) return undefined;
  return uris.map((uri) => ({ text: `resources/subscribe ${uri}`, parameters: {} }));
}

function readName(method: string, params: Json): unknown {
  if (method !== "completion/complete")
    return ownProperty(params, method.startsWith("resources/") ? "uri" : "name");
  const ref = ownProperty(params, "ref");
  if (!isObject(ref)) return undefined;
  // Servers choose the property by the type.
  const type = ownProperty(ref, "type");
  if (type === "ref/prompt") return ownProperty(ref, "name");
  return type === "ref/resource" ? ownProperty(ref, "uri") : undefined;
}

function withId(invalid: Invalid, entry: unknown): Invalid {
  const id = isObject(entry) ? ownProperty(entry, "id") : undefined;
  const isId = typeof id === "string" || typeof id === "number";
  return isId ? { ...invalid, body: { ...invalid.body, id } } : invalid;
}

const isName = (value: unknown): value is string => typeof value === "string" && value !== "";

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads own properties only: a polluted prototype must not name an operation. */
const ownProperty = (object: Json, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/**
 * Returns whether the headers agree with the body: a proxy in front may have used them for its decision.
 * Clients before revision 2026-07-28 do not send them. A batch with these headers is refused.
 */
export function agree(header: ReadHeader, messages: readonly Message[]): boolean {
  const [method, name] = [header("mcp-method"), header("mcp-name")];
  if (method === undefined && name === undefined) return true;
  const [only, ...others] = messages;
  if (!only || others.length > 0 || (method ?? only.method) !== only.method) return false;
  return name === undefined || (only.name !== undefined && decode(name) === only.name);
}

const ENCODED = /^=\?base64\?([\d+/A-Za-z]*={0,2})\?=$/;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a name, which clients may send in Base64; `undefined` for Base64 that is not canonical. */
function decode(value: string): string | undefined {
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? orUndefined(() => DECODER.decode(bytes)) : undefined;
}
