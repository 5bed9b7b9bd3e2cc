const rendered = new WeakMap<object, string>();

/** Renders an object as JSON. A frozen one is shared by many requests, and rendered once. */
export function renderBody(body: object | string): string {
  if (typeof body === "string") return body;
  const known = rendered.get(body);
  if (known !== undefined) return known;
  const json = JSON.stringify(body);
  if (Object.isFrozen(body)) rendered.set(body, json);
  return json;
}
