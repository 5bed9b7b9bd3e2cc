import { literalPattern, quoteName } from "../pattern-source.ts";

/**
 * A Fastify route (find-my-way's syntax) as a pattern in path-to-regexp's syntax that matches at least the same paths:
 * expressions are left out, and the last wildcard is named `*`, as in `request.params`.
 */
export function toPattern(url: string): string {
  if (url === "*") return '/*"*"';
  return splitSegments(url)
    .map((segment) => {
      const isOptional = segment.endsWith("?") && segment.includes(":");
      const pattern = `/${toSegment(isOptional ? segment.slice(0, -1) : segment)}`;
      return isOptional ? `{${pattern}}` : pattern;
    })
    .join("");
}

/** At slashes outside of expressions. */
function splitSegments(url: string): readonly string[] {
  const segments: string[] = [];
  let current = "";
  let depth = 0;
  for (const char of url.slice(1)) {
    if (char === "(") depth += 1;
    if (char === ")") depth -= 1;
    if (char === "/" && depth === 0) {
      segments.push(current);
      current = "";
    } else current += char;
  }
  return [...segments, current];
}

function toSegment(segment: string): string {
  let pattern = "";
  let rest = segment;
  while (rest !== "") {
    const [taken, written] = readParameter(rest) ?? readText(rest);
    pattern += written;
    rest = rest.slice(taken);
  }
  return pattern;
}

/** A parameter with the expression behind it. Its name ends at the characters at which find-my-way ends it. */
function readParameter(text: string): readonly [taken: number, written: string] | undefined {
  if (text === "*") return [1, '*"*"'];
  const name = /^:([^:/\-.(]+)/.exec(text)?.[1];
  if (name === undefined) return undefined;
  const end = name.length + 1;
  return [end + expressionLength(text.slice(end)), `:${quoteName(name)}`];
}

/** The length of a parenthesised expression at the beginning of a text. */
function expressionLength(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === "(") depth += 1;
    if (text[index] === ")") depth -= 1;
    if (depth === 0) return index === 0 ? 0 : index + 1;
  }
  return text.length;
}

/** Text up to the next parameter; a doubled colon stands for one. */
function readText(text: string): readonly [taken: number, written: string] {
  if (text.startsWith("::")) return [2, "\\:"];
  // A wildcard behind text shares its segment: no pattern of ours says that, and a route without a pattern is denied.
  const star = text.indexOf("*");
  if (star >= 0 && !text.slice(0, star).includes(":")) return [text.length, `${text.slice(0, star)}*"*"`];
  const taken = Math.max(1, text.slice(1).search(/:|$/) + 1);
  return [taken, literalPattern(encodeURI(text.slice(0, taken)).replaceAll("%25", "%"))];
}
