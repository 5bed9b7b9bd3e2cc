import { type ResolvedOptions, resolveOptions } from "../../../core/options/resolve.ts";
import { DEFAULTS, type ResourceServerOptions } from "../../../core/options/options.ts";
import { type Command } from "../command.ts";
import { accessTo, type Access, describeAccess, isWithin } from "../diff/access.ts";
import { samplesOf } from "../diff/samples.ts";
import { readConfiguration, withoutKeys } from "../policy.ts";

export const diff: Command = {
  name: "diff",
  summary:
    "Compare two configurations: which routes were opened, widened, narrowed, closed, added or removed.",
  words: ["OLD", "NEW"],
  options: { widened: { text: "also fail if more callers may call a route, or if a setting differs" } },
  examples: [["old.json new.json", "Exit code 1 if a route that needed a token no longer needs one."]],
  async run(given) {
    const [before, after] = await given.all(
      () => readTable(given.words[0] ?? ""),
      () => readTable(given.words[1] ?? ""),
    );
    const routes = compareTables(before.table, after.table);
    const settings = compareSettings(before.options, after.options);
    const findings = given.has("widened") ? ["opened", "widened", "added", "changed"] : ["opened"];
    const lines = routes.map(
      ({ change, route, was, is }) =>
        `${change.padEnd(8)} ${route}\n           was ${was}\n           is  ${is}`,
    );
    const text = [...lines, ...settings.map((line) => `setting  ${line}`)].join("\n");
    const isChanged = given.has("widened") && settings.length > 0;
    const isFinding = isChanged || routes.some(({ change }) => findings.includes(change));
    const data = { routes, settings };
    return { isFinding, data, text: text || "Both configurations decide every request in the same way." };
  },
};

const readTable = (file: string) =>
  readConfiguration(file, (options) => ({ options, table: resolveOptions(withoutKeys(options)) }));

/** How the access to one route has changed. */
export interface Change {
  readonly change: "opened" | "closed" | "widened" | "narrowed" | "changed" | "added" | "removed";
  readonly route: string;
  readonly was: string;
  readonly is: string;
}

/** Finds the pairs of rules that decide some request with another result than before. */
export function compareTables(before: ResolvedOptions, after: ResolvedOptions): readonly Change[] {
  const changes = new Map<string, Change>();
  for (const { label, method, target } of samplesOf([...after.rules, ...before.rules])) {
    const [old, now] = [accessTo(before, method, target), accessTo(after, method, target)];
    const pair = `${old.rule?.key ?? ""}\n${now.rule?.key ?? ""}`;
    const change = changes.has(pair) ? undefined : changeOf(old, now);
    if (change)
      changes.set(pair, { change, route: label, was: describeAccess(old), is: describeAccess(now) });
  }
  const [old, now] = [accessTo(before, "", ""), accessTo(after, "", "")];
  const change = changeOf(old, now);
  const rest = { route: "every route without a rule", was: describeAccess(old), is: describeAccess(now) };
  return [...changes.values(), ...(change ? [{ change, ...rest }] : [])];
}

const isOpen = ({ to }: Access): boolean => to === "optional" || to === "everybody";

function changeOf(before: Access, after: Access): Change["change"] | undefined {
  const [isKept, isBounded] = [isWithin(before, after), isWithin(after, before)];
  const isSame = before.rule?.enforcement === after.rule?.enforcement || !before.rule || !after.rule;
  if (isKept && isBounded) return isSame ? undefined : "changed";
  if (isOpen(before) !== isOpen(after)) return isOpen(after) ? "opened" : "closed";
  if (before.to === "nobody") return "added";
  if (after.to === "nobody") return "removed";
  if (!isKept && !isBounded) return "changed";
  return isKept ? "widened" : "narrowed";
}

/** Not compared: their effect shows in the routes, or callers do not notice it. */
const OTHERS = /^(?:scopeMappings|defaultScopeMappings|realm|resourceMetadataUrl|tokenCache)$/;

/** Keys may be secrets. */
const KEYS = /^(?:keys|verificationKeys)$/;

/** Returns one line for each option that differs, except for the table. */
function compareSettings(before: ResourceServerOptions, after: ResourceServerOptions): readonly string[] {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  return Object.keys({ ...old, ...now }).flatMap((name) => {
    if (OTHERS.test(name) || render(old[name]) === render(now[name])) return [];
    const [was, is] = [old, now].map((one) =>
      render({ [name]: one[name] ?? null }, true).slice(name.length + 4, -1),
    );
    return was === is ? `${name}: other keys` : `${name}: was ${was}, is ${is}`;
  });
}

const settingsOf = (options: ResourceServerOptions): Readonly<Record<string, unknown>> => {
  const { algorithm = "RS256", algorithms = [algorithm], ...others } = options;
  return { ...DEFAULTS, ...others, algorithms };
};

const render = (value: unknown, isShown = false): string =>
  JSON.stringify(value ?? null, (name, own: unknown) => (isShown && KEYS.test(name) ? "..." : own));
