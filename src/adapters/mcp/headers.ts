/** The headers that repeat parts of the body since revision 2026-07-28. */
import { orUndefined } from "../../core/errors.ts";
import type { Json } from "../../core/runtime/json.ts";
import type { Exchange } from "./exchange.ts";
import { type Messages, ownObject } from "./messages.ts";

/** The prefix of the headers that repeat arguments of a tool. */
const ARGUMENT_HEADER = "mcp-param-";
const MAX_ARGUMENT_HEADERS = 64;

type RepeatingHeaders = Pick<Exchange, "header" | "fields">;

/**
 * Returns whether the headers that repeat parts of the body agree with it: a proxy may have used the headers
 * for its decision. Clients before revision 2026-07-28 don't send them. A batch with these headers is
 * refused. The name of an argument's header is declared by the tool, so a header is only compared if an
 * argument has its name.
 */
export function headersAgree({ header, fields }: RepeatingHeaders, { messages, body }: Messages): boolean {
  const method = header("mcp-method");
  const name = header("mcp-name");
  const only = messages[0];
  const repeated = readArgumentHeaders({ header, fields });
  if (method === undefined && name === undefined && repeated.size === 0 && !only?.isStateless) return true;
  if (!only || messages.length > 1 || (method ?? only.method) !== only.method) return false;
  if (name !== undefined && (only.name === undefined || decode(name) !== only.name)) return false;
  if (repeated.size > MAX_ARGUMENT_HEADERS) return false;
  const [message] = [body].flat() as readonly Json[];
  const callArguments = ownObject(ownObject(message ?? {}, "params") ?? {}, "arguments") ?? {};
  // Each spelling of a name must agree: it isn't known which one the tool reads.
  return Object.entries(callArguments).every(([argument, value]) => {
    const key = argument.toLowerCase();
    const isPrimitive = ["string", "number", "boolean"].includes(typeof value);
    return !isPrimitive || !repeated.has(key) || repeated.get(key) === String(value);
  });
}

const NO_HEADERS: ReadonlyMap<string, string | undefined> = new Map();

/** Returns the values by lower-case name. Each is decoded once, even if many arguments have its name. */
function readArgumentHeaders({ header, fields }: RepeatingHeaders) {
  let values: Map<string, string | undefined> | undefined;
  for (const field of fields())
    if (field.startsWith(ARGUMENT_HEADER))
      (values ??= new Map()).set(field.slice(ARGUMENT_HEADER.length), decode(header(field) ?? ""));
  return values ?? NO_HEADERS;
}

const ENCODED = /^=\?base64\?([\d+/A-Za-z]*={0,2})\?=$/;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a name, which clients may send in Base64; `undefined` for Base64 that isn't canonical. */
function decode(value: string): string | undefined {
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? orUndefined(() => DECODER.decode(bytes)) : undefined;
}
