import { type Problem } from "./problem.ts";

const rendered = new WeakMap<Problem, string>();

/** Renders the body of a refusal. A frozen body is shared by many requests, and rendered once. */
export function renderBody(body: Problem): string {
  const known = rendered.get(body);
  if (known !== undefined) return known;
  const json = JSON.stringify(body);
  if (Object.isFrozen(body)) rendered.set(body, json);
  return json;
}
