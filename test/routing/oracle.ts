/** Which scopes the handlers that ran require, according to the handwritten policy. */
import { type Needs, policyOf, TABLE } from "./policy.ts";

const PARAMETER = /<(\w+)>/;

/** The same scope for every id. */
const widened = (scope: string): string => scope.replace(/:.+:/, ":*:");

/** The same scope without an id, which is also for every id. */
const withoutId = (scope: string): string => scope.replace(/:.+:/, ":");

/** One call of a handler. */
export interface Ran {
  readonly handler: string;
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/** The scopes of a caller. `undefined` means no token. */
export type Scopes = readonly string[] | undefined;

/** What one handler call requires. If several rules apply, all of them. */
export function neededBy({ handler, method, params }: Ran): Needs {
  const policy = policyOf(handler);
  const whole = fill(byMethod(policy.needs, method), params);
  if (!policy.parts) return whole;
  const { parameter, cases, alone = false } = policy.parts;
  const value = params[parameter] ?? "";
  const part = Object.entries(cases).find(([text]) =>
    isPart(text, alone ? value.toLowerCase().replace(/\/$/, "") : value),
  );
  if (!part) return whole;
  const asked = fill(part[1], params);
  return alone ? asked : both(whole, asked);
}

/** Whether the caller was allowed to run the handler. */
export function mayRun(ran: Ran, caller: Scopes): boolean {
  const needs = neededBy(ran);
  if (typeof needs === "string") return needs === "everyone";
  return (
    caller !== undefined && needs.every((scope) => caller.includes(scope) || caller.includes(widened(scope)))
  );
}

/** All scopes that these calls require. `undefined` if none of them depends on scopes. */
export function neededByAll(ran: readonly Ran[]): Scopes {
  const needs = ran.map(neededBy).filter((need) => typeof need !== "string");
  return needs.length === 0 ? undefined : [...new Set(needs.flat())];
}

/** All scope templates of the table. */
const TEMPLATES = new Set(
  Object.values(TABLE).flatMap((value) => (Array.isArray(value) ? (value as string[]) : [])),
);

/** Ids for a caller who has a scope for many ids but lacks it for one. */
const IDS = ["web", "me", "ME", "kit", "index", "open", "final", "free", "all", "7", "a", "WEB", "Web"];

/** Every scope of the table, for every id, except the given ones. */
export function scopesWithout(needed: readonly string[]): readonly string[] {
  const scopes = [...TEMPLATES].flatMap((template) => {
    const everyId = template.replace(PARAMETER, "*");
    const isLacked = needed.some((scope) => scope === everyId || widened(scope) === everyId);
    return isLacked ? IDS.map((id) => template.replace(PARAMETER, id)) : [everyId];
  });
  const lacked = new Set(needed.flatMap((scope) => [scope, withoutId(scope)]));
  return [...new Set(scopes)].filter((scope) => !lacked.has(scope));
}

function byMethod(needs: Needs | Readonly<Record<string, Needs>>, method: string): Needs {
  if (typeof needs === "string" || isList(needs)) return needs;
  const asked = method === "HEAD" ? ["HEAD", "GET", "*"] : [method, "*"];
  return asked.map((name) => needs[name]).find((needed) => needed !== undefined) ?? "nobody";
}

const isList = (needs: object): needs is readonly string[] => Array.isArray(needs);

const isPart = (text: string, value: string): boolean =>
  text.endsWith("/") ? value.startsWith(text) && value !== text : value === text;

/** Only a wildcard grant covers an id with characters that are not allowed in a scope. */
function fill(needs: Needs, params: Ran["params"]): Needs {
  if (typeof needs === "string") return needs;
  return needs.map((scope) => scope.replace(PARAMETER, (_, name: string) => toId(params[name] ?? "")));
}

const toId = (value: string): string => (/^[\w.~;=@,%+-]+$/.test(value) ? value : "*");

function both(a: Needs, b: Needs): Needs {
  if (a === "nobody" || b === "nobody") return "nobody";
  if (a === "everyone") return b;
  return b === "everyone" ? a : [...a, ...b];
}
