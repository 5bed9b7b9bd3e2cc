import { type Problem } from "./problem.ts";

const rendered = new WeakMap<Problem, string>();

/** The body of a refusal as it is sent. One that many requests share, which is frozen, is rendered once. */
export function renderBody(body: Problem): string {
  const known = rendered.get(body);
  if (known !== undefined) return known;
  const text = JSON.stringify(body);
  if (Object.isFrozen(body)) rendered.set(body, text);
  return text;
}
