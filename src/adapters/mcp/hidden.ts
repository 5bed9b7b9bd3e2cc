/**
 * Operations that don't exist for a caller who may not call them. The server receives a name in their place
 * that it can't have, so it responds as to any unknown name, and the response gets the caller's name back.
 */
import { randomBytes } from "node:crypto";
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";
import { hrefOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import { COMPLETION, type OperationMethods } from "../../capabilities/mcp-operations/operation-methods.ts";
import type { Json } from "../../core/runtime/json.ts";
import type { Exchange } from "./exchange.ts";
import { type Messages, ownObject } from "./messages.ts";

/** A request with other names. */
export interface HiddenCalls {
  readonly messages: Messages;
  /** The header fields that must agree with the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** Puts the names that the client has sent back into a part of the response. */
  readonly restoreNames: (text: string) => string;
}

/** No client and no server knows it, so no operation has a name with it. */
const SECRET = `x${randomBytes(16).toString("hex")}x`;
/**
 * In a URI, the secret is the scheme: a scheme that no template has. It has upper-case letters, so that its
 * spelling in the response shows whether the server sends back the normalized URI.
 */
const URI_SECRET = SECRET.toUpperCase();
const REPLACED = new RegExp(`${SECRET}(\\d+)x(:x)?`, "gi");

/** Replaces the names of these calls, each of which is a call of one of the messages. */
export function hideCalls(
  messages: Messages,
  hidden: ReadonlySet<Operation>,
  { methods, header }: { readonly methods: OperationMethods } & Pick<Exchange, "header">,
): HiddenCalls {
  const names: string[] = [];
  const restoreName = (placeholder: string, index: string, uriEnd = ""): string => {
    const name = names[Number(index)] ?? "";
    const isNormalized = uriEnd !== "" && !placeholder.startsWith(URI_SECRET);
    return JSON.stringify(isNormalized ? hrefOf(name) : name).slice(1, -1);
  };
  const replace = (name: string, isUri: boolean): string => {
    names.push(name);
    const index = names.length - 1;
    return isUri ? `${URI_SECRET}${index}x:x` : `${SECRET}${index}x`;
  };
  const entries = [messages.body].flat() as readonly Json[];
  const replaced = entries.map((entry, index) => {
    const { method = "", calls = [] } = messages.messages[index] ?? {};
    if (!calls.some((call) => hidden.has(call))) return entry;
    const params = ownObject(entry, "params") ?? {};
    return { ...entry, params: replaceNames({ method, params, calls, hidden, methods, replace }) };
  });
  const body = Array.isArray(messages.body) ? replaced : (replaced[0] ?? {});
  const bytes = messages.bytes && Buffer.from(JSON.stringify(body));
  const headers: Record<string, string> = {};
  if (bytes && header("content-length") !== undefined) headers["content-length"] = String(bytes.length);
  // Only a request with one message has this header.
  const [only] = messages.messages;
  if (header("mcp-name") !== undefined && names.length > 0)
    headers["mcp-name"] = isUriOf(only?.calls[0]) ? `${URI_SECRET}0x:x` : `${SECRET}0x`;
  return {
    messages: { ...messages, body, bytes },
    headers,
    restoreNames: (text) => text.replaceAll(REPLACED, restoreName),
  };
}

const isUriOf = (call: Operation | undefined): boolean => call?.method.startsWith("resources/") === true;

interface ReplacedMessage {
  readonly method: string;
  readonly params: Json;
  readonly calls: readonly Operation[];
  readonly hidden: ReadonlySet<Operation>;
  readonly methods: OperationMethods;
  readonly replace: (name: string, isUri: boolean) => string;
}

/** Returns the parameters of a message with other names, at the places where `readMessages` has read them. */
function replaceNames({ method, params, calls, hidden, methods, replace }: ReplacedMessage): Json {
  const [first] = calls;
  const nameOf = (call: Operation | undefined): string => replace(call?.name ?? "", isUriOf(call));
  if (method === COMPLETION) {
    const property = isUriOf(first) ? "uri" : "name";
    return { ...params, ref: { ...ownObject(params, "ref"), [property]: nameOf(first) } };
  }
  const parameter = methods.get(method)?.nameParameter;
  if (parameter !== undefined) return { ...params, [parameter]: nameOf(first) };
  const resourceSubscriptions = calls
    .filter(({ name }) => name !== undefined)
    .map((call) => (hidden.has(call) ? nameOf(call) : call.name));
  return { ...params, notifications: { ...ownObject(params, "notifications"), resourceSubscriptions } };
}
