/** What an adapter sends instead of the response of a handler. */
import type { Problem } from "./problem.ts";

/** An HTTP response that an adapter sends instead of a handler. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Send an object as JSON, and a string as it is. */
  readonly body: object | string;
}

/** The HTTP response for a refusal. */
export interface Refusal extends HttpResponse {
  /** 400, 401, 403, 404 or 503. */
  readonly status: number;
  /** All headers of the response. Add `WWW-Authenticate` to an existing one; replace the others. */
  readonly headers: Readonly<Record<string, string>>;
  /** The problem, or the string that `refusalBody` created. Send an object as JSON, and a string as it is. */
  readonly body: Problem | string;
  /** The problem, even with `refusalBody`: for channels without an HTTP response. */
  readonly problem: Problem;
}
