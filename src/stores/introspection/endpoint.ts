/** Sends requests to the introspection endpoint (RFC 7662 section 2). */
import { discardBody, errorCodeOf, FetchError, readResponseText } from "../../core/keys/fetch-json.ts";
import { displayUrl } from "../../core/keys/secure-url.ts";
import type { HttpInit } from "../../core/keys/http-request.ts";

/** The part of `fetch` that introspection uses. */
export type IntrospectionFetch = (
  url: string,
  init: HttpInit & { readonly method: "POST"; readonly body: string },
) => Promise<Response>;

/** The maximum size of a response, in bytes. Responses are far smaller, and each one is remembered. */
const MAX_BYTES = 64 * 1024;

/** The codes of failed connections, which don't depend on the token. */
const UNREACHABLE = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

const CAUSES: Readonly<Record<number, string>> = {
  401: " It doesn't accept the credentials of this client: check `client`.",
  429: " It limits the requests of this client.",
};

/** Why the endpoint didn't report whether a token is active. The message quotes nothing that was sent. */
export class EndpointError extends Error {
  /** The name of the class. */
  override readonly name = "EndpointError";
  /** Whether a request with any other token would fail as well. */
  readonly concernsAll: boolean | undefined;
  /** The `Retry-After` of the response, in seconds from 1 to 3,600. */
  readonly retryAfterSeconds: number | undefined;

  constructor(url: string, what: string, facts: Partial<EndpointError> = {}) {
    super(`${displayUrl(url)} ${what}`, { cause: facts.cause });
    this.concernsAll = facts.concernsAll;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

/** Returns the body. Follows no redirect, because the token and the secret would be sent elsewhere. */
export async function post(
  url: string,
  fetch: IntrospectionFetch,
  fields: Record<string, string>,
  { headers, signal }: Pick<HttpInit, "headers" | "signal">,
): Promise<string> {
  try {
    const body = new URLSearchParams(fields).toString();
    const sent = { ...headers, "content-type": "application/x-www-form-urlencoded" };
    const response = await fetch(url, { method: "POST", headers: sent, body, redirect: "manual", signal });
    const { status, redirected } = response;
    if (status === 200 && !redirected) return await readResponseText(url, response, signal, MAX_BYTES);
    discardBody(response.body);
    const what = redirected ? "redirected the request." : `returned status ${status}.${CAUSES[status] ?? ""}`;
    const retryAfterSeconds = secondsOf(response.headers.get("retry-after"));
    throw new EndpointError(url, what, { concernsAll: status in CAUSES, retryAfterSeconds });
  } catch (error) {
    if (error instanceof EndpointError || error instanceof FetchError) throw error;
    // The error is dropped: an HTTP client may put the request into it, with the token and the secret.
    const code = errorCodeOf(error);
    const what = `can't be queried${code === undefined ? "" : ` (${code})`}.`;
    throw new EndpointError(url, what, { concernsAll: UNREACHABLE.has(code ?? "") });
  }
}

/** Seconds or a date (RFC 9110 section 10.2.3). A value that makes no sense is ignored. */
function secondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const isNumber = /^\d+$/.test(retryAfter);
  const seconds = isNumber ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return seconds >= 1 && seconds <= 3600 ? seconds : undefined;
}
