/**
 * Operations that don't exist for a caller who may not call them. The server receives a name in their place
 * that it can't have, so it responds as to any unknown name, and the response gets the caller's name back.
 */
import { randomBytes } from "node:crypto";
import { hrefOf } from "../../capabilities/mcp-operations/operation-rules.ts";
import type { Exchange } from "./exchange.ts";
import type { Call, Messages } from "./messages.ts";

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
  hidden: ReadonlySet<Call>,
  header: Exchange["header"],
): HiddenCalls {
  const body = JSON.parse(JSON.stringify(messages.body)) as object;
  const entries = [body].flat() as readonly { readonly params: Names }[];
  const names: string[] = [];
  const headers: Record<string, string> = {};
  for (const [index, { params }] of entries.entries())
    for (const call of messages.messages[index]?.calls ?? []) {
      if (!hidden.has(call)) continue;
      const { method, name = "", nameAt = [] } = call;
      const isUri = method.startsWith("resources/");
      const placeholder = isUri ? `${URI_SECRET}${names.length}x:x` : `${SECRET}${names.length}x`;
      names.push(name);
      writeAt(params, nameAt, placeholder);
      // Only a request with one message has this header.
      if (header("mcp-name") !== undefined) headers["mcp-name"] = placeholder;
    }
  const bytes = messages.bytes && Buffer.from(JSON.stringify(body));
  if (bytes && header("content-length") !== undefined) headers["content-length"] = String(bytes.length);
  const restoreName = (placeholder: string, index: string, uriEnd = ""): string => {
    const name = names[Number(index)] ?? "";
    const isNormalized = uriEnd !== "" && !placeholder.startsWith(URI_SECRET);
    return JSON.stringify(isNormalized ? hrefOf(name) : name).slice(1, -1);
  };
  return {
    messages: { ...messages, body, bytes },
    headers,
    restoreNames: (text) => text.replaceAll(REPLACED, restoreName),
  };
}

/** The objects and arrays in which a message has names. */
interface Names {
  [key: string | number]: string | Names;
}

/** Replaces a string in an object. */
function writeAt(object: Names, [key = "", ...rest]: readonly (string | number)[], text: string): void {
  if (rest.length === 0) object[key] = text;
  else writeAt(object[key] as Names, rest, text);
}
