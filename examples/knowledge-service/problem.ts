/**
 * The titles of problems. For type `about:blank`, the title is the status phrase (RFC 9457 section 4.2.1).
 */
const TITLES = { 400: "Bad Request", 403: "Forbidden", 404: "Not Found" } as const;

/** The body of an error response of type `application/problem+json` (RFC 9457). */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: keyof typeof TITLES;
  readonly detail: string;
}

/** Creates a problem. `extensions` are additional properties (RFC 9457 section 3.2). */
export function problem(status: Problem["status"], detail: string, extensions?: object): Problem {
  return { type: "about:blank", title: TITLES[status], status, detail, ...extensions };
}

/** Whether a result is a problem. Other results have no `type`. */
export const isProblem = (result: object): result is Problem =>
  "type" in result && result.type === "about:blank";
