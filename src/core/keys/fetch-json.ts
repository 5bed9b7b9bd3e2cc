import { orUndefined } from "../errors.ts";
import { displayUrl } from "./secure-url.ts";

/** The maximum size of a document in bytes: far more than real key sets need. */
export const MAX_BYTES = 512 * 1024;

/** Decodes UTF-8 without a byte order mark, which some editors write and JSON doesn't allow. */
export const decodeText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The part of `fetch` that key sources use. Pass your own function, for example, to use a proxy. */
export type KeyFetch = (
  url: string,
  init: {
    readonly method: "GET";
    readonly headers: Record<string, string>;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** Why a document couldn't be fetched. The message quotes no part of the response: it can be logged. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  /** The status of the response, if it wasn't 200. */
  readonly status: number | undefined;

  constructor(url: string, what: string, status?: number, cause?: unknown) {
    super(`${displayUrl(url)} ${what}`, { cause });
    this.status = status;
  }
}

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches a JSON document of at most 512 KiB. Follows up to three redirects within the origin: another origin
 * wasn't configured, and could be inside the network. Sends no credentials, and no request after an abort.
 *
 * @throws FetchError for every failure, also of a custom `fetch`
 */
export async function fetchJson(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await fetchWithinOrigin(url, fetch, signal);
    if (response.status !== 200) {
      discardBody(response.body);
      throw new FetchError(url, `returned status ${response.status}.`, response.status);
    }
    const text = await readResponseText(url, response, signal);
    const parsed = orUndefined((): { readonly json: unknown } => ({ json: JSON.parse(text) }));
    if (!parsed) throw new FetchError(url, "didn't return JSON.");
    return parsed.json;
  } catch (cause) {
    if (cause instanceof FetchError) throw cause;
    const code = errorCodeOf(cause);
    const what = code === undefined ? "can't be fetched." : `can't be fetched (${code}).`;
    throw new FetchError(url, what, undefined, cause);
  }
}

/** Follows redirects, but never to another origin. */
async function fetchWithinOrigin(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<Response> {
  const { origin } = new URL(url);
  const headers = { accept: "application/json, application/jwk-set+json" };
  let next = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    signal.throwIfAborted();
    const response = await fetch(next, { method: "GET", headers, redirect: "manual", signal });
    if (typeof (response.status as unknown) !== "number")
      throw new TypeError("`fetch` returned no response.");
    // A `fetch` that follows redirects itself must stay within the origin as well.
    const isElsewhere = response.redirected && new URL(response.url).origin !== origin;
    if (!isElsewhere && !REDIRECTS.has(response.status)) return response;
    discardBody(response.body);
    const location = isElsewhere ? response.url : response.headers.get("location");
    const target = location === null ? undefined : orUndefined(() => new URL(location, next));
    if (target?.origin !== origin)
      throw new FetchError(url, "redirected to another origin, which isn't allowed.");
    next = target.href;
  }
  throw new FetchError(url, `redirected more than ${MAX_REDIRECTS} times.`);
}

/** Reads a body as UTF-8. @throws FetchError for more than `maxBytes`; another error if reading fails */
export async function readResponseText(
  url: string,
  { body }: Response,
  signal: AbortSignal,
  maxBytes = MAX_BYTES,
): Promise<string> {
  if (!body) return "";
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  // An exception in a listener of the signal would end the process.
  const cancel = (): void => orUndefined(() => void reader.cancel().catch(() => undefined));
  // A `fetch` that ignores the signal must not keep a slow response open.
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel);
  try {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      // An empty chunk counts as a kilobyte: an endless series of empty chunks would never let a timer run.
      size += Buffer.byteLength(part.value) || 1024;
      if (size > maxBytes) throw new FetchError(url, `returned more than ${maxBytes} bytes.`);
      chunks.push(part.value);
    }
    // After an abort the body is incomplete, but it may still parse as JSON.
    signal.throwIfAborted();
    return decodeText(Buffer.concat(chunks));
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Frees the connection of a response that isn't read. */
export function discardBody(body: Response["body"]): void {
  orUndefined(() => void body?.cancel().catch(() => undefined));
}

interface ErrorLike {
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** Returns a code such as `ECONNREFUSED`. Everything else in an error may contain parts of the request. */
export const errorCodeOf = (error: unknown): string | undefined =>
  orUndefined(() => codeOf(error) ?? codeOf((error as ErrorLike).cause));

function codeOf(error: unknown): string | undefined {
  const code = (error as ErrorLike | null | undefined)?.code;
  return typeof code === "string" && /^\w{1,50}$/.test(code) ? code : undefined;
}
