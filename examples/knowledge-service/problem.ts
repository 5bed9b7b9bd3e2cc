/** The statuses of the domain, with their phrases: a problem of type `about:blank` is titled by its status. */
const TITLES = { 400: "Bad Request", 403: "Forbidden", 404: "Not Found" } as const;

/** A refusal of the domain: the body of an `application/problem+json` response (RFC 9457). */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: keyof typeof TITLES;
  readonly detail: string;
}

/** Creates a problem; `extensions` are further members of its body (RFC 9457 section 3.2). */
export function problem(status: Problem["status"], detail: string, extensions?: object): Problem {
  return { type: "about:blank", title: TITLES[status], status, detail, ...extensions };
}

/** Tells a problem from a result; no result of the domain has a `type`. */
export const isProblem = (result: object): result is Problem =>
  "type" in result && result.type === "about:blank";
