import { EXPRESSION, literalPattern, quoteName } from "../../core/policy/pattern-text.ts";

/**
 * Converts the path of a Hono route to a pattern that matches at least the same paths. Where Hono's routers
 * disagree about a path, such as one with static characters around a parameter, the route may have any path.
 */
export function toPattern(path: string): string {
  const segments = path.match(SEGMENTS) ?? [];
  let closing = "";
  const parts = segments.map((whole, index) => {
    const isTail = whole === "/*" && index === segments.length - 1;
    // Hono looks for optional parameters only where the last one is optional.
    const isOptional = path.endsWith("?") && whole.endsWith("?");
    const part = isTail ? '*"*"' : toPart(whole.slice(1, isOptional ? -1 : undefined), index);
    if (part === undefined) return undefined;
    if (!isTail && !isOptional && closing === "") return `/${part}`;
    closing += "}";
    return index === 0 ? `/{${part}` : `{/${part}`;
  });
  return segments.join("") !== path || parts.includes(undefined) ? EXPRESSION : parts.join("") + closing;
}

/** Slashes divide segments, except inside the regular expression of a parameter. */
const SEGMENTS = /\/(?:[^/{}]|\{(?:[^{}]|\{[^{}]*\})*\})*/g;

function toPart(segment: string, index: number): string | undefined {
  if (segment === "*") return `:${quoteName(`*${String(index)}`)}`;
  const [, name, expression] = /^:([^{}]+)(?:\{(.+)\})?$/s.exec(segment) ?? [];
  if (name === undefined) return /[:*?{}]/.test(segment) ? undefined : literalPattern(encodeText(segment));
  if (expression === undefined) return `:${quoteName(name)}`;
  // In the syntax before version 8 of path-to-regexp. If it may match a slash, the route may have any path.
  return /^\w+$/.test(name) ? `:${name}(${expression})` : undefined;
}

/** Encodes a string as clients send it. Hono decodes a path before it matches, but leaves `%25` as it is. */
export const encodeText = (text: string): string => encodeURI(text).replaceAll("%25", "%");
