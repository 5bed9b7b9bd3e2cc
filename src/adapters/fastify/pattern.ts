import { literalPattern, quoteName } from "../../policy/render-pattern.ts";

/**
 * A Fastify route (find-my-way's syntax) as a pattern in path-to-regexp's syntax that matches at least the same paths:
 * expressions are left out, and the last wildcard is named `*`, as in `request.params`.
 */
export function toPattern(url: string): string {
  if (url === "*") return '/*"*"';
  const segments = withoutExpressions(url).slice(1).split("/");
  return segments
    .map((segment) => {
      const isOptional = segment.endsWith("?") && segment.includes(":");
      return isOptional ? `{/${toSegment(segment.slice(0, -1))}}` : `/${toSegment(segment)}`;
    })
    .join("");
}

/** A parameter whose name ends here. An even number of colons in front of it is text. */
const ENDS_WITH_NAME = /(?<!:)(?:::)*:[^:/\-.(]+$/;

/** Each expression behind a parameter becomes `()`, which still ends the name. */
function withoutExpressions(url: string): string {
  let kept = "";
  let depth = 0;
  for (const [char] of url.matchAll(/\\?./gs)) {
    if (char === "(" && (depth > 0 || ENDS_WITH_NAME.test(kept))) {
      if (depth === 0) kept += "()";
      depth += 1;
    } else if (depth === 0) kept += char;
    else if (char === ")") depth -= 1;
  }
  return kept;
}

/** A parameter, a wildcard, a doubled colon, which stands for one, or text. */
const TOKEN = /:([^:/\-.(]+)(?:\(\))?|\*|::|:|[^:*]+/g;

/** A wildcard behind text stays in its segment. No rule can be written for that, so the route is denied. */
const toSegment = (segment: string): string =>
  segment.replaceAll(TOKEN, (token, name?: string) => {
    if (name !== undefined) return `:${quoteName(name)}`;
    if (token === "*") return '*"*"';
    return token === "::" ? "\\:" : literalPattern(encodeURI(token).replaceAll("%25", "%"));
  });
