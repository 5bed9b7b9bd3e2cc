const renderedBodies = new WeakMap<object, string>();

/** Renders an object as JSON. A frozen object is shared by many requests, so it's rendered once. */
export function renderBody(body: object | string): string {
  if (typeof body === "string") return body;
  const rendered = renderedBodies.get(body);
  if (rendered !== undefined) return rendered;
  const json = JSON.stringify(body);
  if (Object.isFrozen(body)) renderedBodies.set(body, json);
  return json;
}
