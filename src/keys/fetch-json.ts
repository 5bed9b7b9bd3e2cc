import { attempt } from "../errors.ts";
import { displayUrl } from "./secure-url.ts";

/** The part of `fetch` that key sources use; the one of the platform fits, and so does one that goes through a proxy. */
export type KeyFetch = (
  url: string,
  init: {
    readonly method: "GET";
    readonly headers: Record<string, string>;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
  },
) => Promise<Response>;

/** Why a document could not be had. The text is ours, and fit for a log. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  /** The status of the answer, where there was one that was not 200. */
  readonly status: number | undefined;

  constructor(
    url: string,
    what: string,
    options: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(`${displayUrl(url)} ${what}`, { cause: options.cause });
    this.status = options.status;
  }
}

/** Far above any key set, far below what a server could be made to choke on; counted after decompression. */
const MAX_BYTES = 512 * 1024;
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Reads a JSON document of at most 512 KiB. Follows up to three redirects within its origin: another one was never
 * configured, and could be inside the network. Sends no credentials, and nothing at all once the signal is aborted.
 *
 * @throws FetchError, whatever the `fetch` does
 */
export async function fetchJson(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<unknown> {
  try {
    return await readJson(url, fetch, signal);
  } catch (cause) {
    throw cause instanceof FetchError ? cause : unreachable(url, cause);
  }
}

async function readJson(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<unknown> {
  const response = await follow(url, fetch, signal);
  if (response.status !== 200) {
    discard(response.body);
    throw new FetchError(url, `answered ${response.status}.`, { status: response.status });
  }
  const text = await readText(url, response, signal);
  const value = attempt((): { readonly json: unknown } => ({ json: JSON.parse(text) }));
  if (!value) throw new FetchError(url, "answered no JSON.");
  return value.json;
}

async function follow(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<Response> {
  const { origin } = new URL(url);
  let place = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await send(place, fetch, signal);
    // A `fetch` that follows redirects by itself must not lead elsewhere either; one that goes a way of its own may.
    if (response.redirected && new URL(response.url).origin !== origin) return refuseRedirect(url, response);
    if (!REDIRECTS.has(response.status)) return response;
    discard(response.body);
    const location = response.headers.get("location");
    const next = location === null ? undefined : attempt(() => new URL(location, place));
    if (next?.origin !== origin) return refuseRedirect(url, response);
    place = next.href;
  }
  throw new FetchError(url, `redirects more than ${MAX_REDIRECTS} times.`);
}

function refuseRedirect(url: string, { body }: Response): never {
  discard(body);
  throw new FetchError(url, "redirects to another origin, which is not followed.");
}

async function send(url: string, fetch: KeyFetch, signal: AbortSignal): Promise<Response> {
  const headers = { accept: "application/json, application/jwk-set+json" };
  signal.throwIfAborted();
  const response = await fetch(url, { method: "GET", headers, redirect: "manual", signal });
  if (typeof (response.status as unknown) !== "number") throw new TypeError("No response was answered.");
  return response;
}

async function readText(url: string, { body }: Response, signal: AbortSignal): Promise<string> {
  if (!body) return "";
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  // In a listener of the signal a throw would end the process.
  const leave = (): void => attempt(() => void reader.cancel().catch(() => undefined));
  // A `fetch` that does not heed the signal would let a slow answer go on for ever.
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave);
  try {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      // An empty part counts as well: parts without end that come at once would let no timer run.
      size += Math.max(Buffer.byteLength(part.value), 1);
      if (size > MAX_BYTES) throw new FetchError(url, `answered more than ${MAX_BYTES} bytes.`);
      chunks.push(part.value);
    }
    // Whoever left early has a part of the document, which may read like a whole one.
    signal.throwIfAborted();
    return Buffer.concat(chunks).toString("utf8");
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/** Frees the connection of an answer that nobody reads. */
function discard(body: Response["body"]): void {
  attempt(() => void body?.cancel().catch(() => undefined));
}

function unreachable(url: string, cause: unknown): FetchError {
  const code = attempt(
    () => codeOf(cause) ?? codeOf((cause as { readonly cause?: unknown } | null | undefined)?.cause),
  );
  return new FetchError(url, `cannot be read${code === undefined ? "" : ` (${code})`}.`, { cause });
}

/** `ECONNREFUSED` and its like; whatever else an error says stays in its `cause`. */
function codeOf(error: unknown): string | undefined {
  const code: unknown = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^\w{1,50}$/.test(code) ? code : undefined;
}
