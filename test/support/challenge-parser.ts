/** A parser for `WWW-Authenticate`, written only from the grammar of RFC 9110 sections 5.6 and 11.6.1. */
export interface ParsedChallenge {
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const SPACES = / +/y;
const OWS = /[ \t]*/y;
/** A comma between two parameters of one challenge: only a parameter has an equals sign after its name. */
const BEFORE_PARAM = /[ \t]*,[ \t]*(?=[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=)/y;
const BEFORE_CHALLENGE = /[ \t]*,[ \t]*/y;
const END = /[ \t]*$/y;
/** One `qdtext` character or one quoted pair. */
const QUOTED_CHARACTER = /[\t \x21\x23-\x5b\x5d-\x7e]|\\([\t \x21-\x7e])/y;

/**
 * Parses the challenges of a field, and throws if it is invalid. Does not support `token68`, which Bearer
 * does not use.
 */
export function parseChallenges(field: string): readonly ParsedChallenge[] {
  let position = 0;
  const take = (expression: RegExp): RegExpExecArray | undefined => {
    expression.lastIndex = position;
    const match = expression.exec(field) ?? undefined;
    if (match) position = expression.lastIndex;
    return match;
  };
  const need = (expression: RegExp): string => {
    const match = take(expression);
    if (!match) throw new Error(`Expected ${expression.source} at index ${position} of ${field}`);
    return match[0];
  };
  const readQuoted = (): string => {
    let text = "";
    for (let character = take(QUOTED_CHARACTER); character; character = take(QUOTED_CHARACTER))
      text += character[1] ?? character[0];
    need(/"/y);
    return text;
  };
  const readParam = (params: Record<string, string>): void => {
    const name = need(TOKEN).toLowerCase();
    take(OWS);
    need(/=/y);
    take(OWS);
    if (Object.hasOwn(params, name)) throw new Error(`${name} occurs twice in ${field}`);
    params[name] = take(/"/y) ? readQuoted() : need(TOKEN);
  };

  const challenges: ParsedChallenge[] = [];
  if (field === "") return challenges;
  do {
    const params: Record<string, string> = {};
    challenges.push({ scheme: need(TOKEN), params });
    if (!take(SPACES)) continue;
    do readParam(params);
    while (take(BEFORE_PARAM));
  } while (take(BEFORE_CHALLENGE));
  need(END);
  return challenges;
}
