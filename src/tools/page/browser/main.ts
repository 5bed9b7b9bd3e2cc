/** The script of the policy page. It decides with the server's code, and sends nothing. */
import { explainByPolicy } from "../../../capabilities/explain/explain.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { scopesOf } from "../../../core/policy/requirement.ts";
import type { CompiledRule } from "../../../core/policy/rule.ts";
import { escapeHidden } from "../../escape.ts";
import { sampleMethodOf, samplePathOf } from "../../shared/sample-path.ts";
import { type PageData, type PageRole, readPolicy, readShadow } from "../page-data.ts";
import { stepsOf } from "../steps.ts";
import { callerWithRole, readCaller, renderCaller } from "./caller.ts";
import { find, make } from "./dom.ts";
import { createTable } from "./table.ts";

const data = JSON.parse(find("data").textContent) as PageData;
const policy = readPolicy(data);
const shadow = readShadow(data);
const readEntered = () => readCaller(find("caller").value, find("claim").value);

function explain(): void {
  const { scopes, claims } = readEntered();
  const tenant = find("tenant").value || undefined;
  const query = { method: find("method").value, path: find("path").value };
  const explanation = explainByPolicy(policy, { ...query, ...compact({ scopes, claims, tenant }) }, shadow);
  const unmappedStatus = data.unmappedRoutes === "not_found" ? 404 : 403;
  const steps = stepsOf(explanation, unmappedStatus).map(({ name, state, lines }) => {
    const texts = lines.map((line) => make("code", "", line));
    return make("li", state, make("b", "", name), make("i", "", state), ...texts);
  });
  find("steps").replaceChildren(...steps);
  find("response").textContent = escapeHidden(explanation.text.replace(/^.*\n *decision +/s, ""));
  find("text").textContent = escapeHidden(explanation.text);
}

const table = createTable(policy, data, (method, path) => {
  find("method").value = method;
  find("path").value = path;
  explain();
  find("path").focus();
});

function showCaller(): void {
  const { scopes, note } = readEntered();
  find("read").textContent = note;
  table.showCaller(scopes);
  explain();
}

/** The scopes that a rule names. A template stands for every id, and `<any>` too. */
const namedIn = ({ requirement }: CompiledRule): readonly string[] =>
  scopesOf(requirement).map(({ text, template }) =>
    template ? `${template.resource}:${template.action}` : text,
  );
const named = policy.rules.rules.flatMap(namedIn);
const choices = new Map<string, PageRole>([
  ...data.roles.map(([name, role]) => [`Role ${name}`, role] as const),
  ...[data.adminScope ?? "", ...named].sort().map((scope) => [scope, [scope]] as const),
]);
find("add").append(make("option", ""), ...[...choices.keys()].map((name) => make("option", "", name)));
find("add").addEventListener("change", () => {
  const { scopes, claims, tenant } = callerWithRole(choices.get(find("add").value) ?? []);
  const added = scopes && [...(readEntered().scopes ?? []), ...scopes];
  find("caller").value = renderCaller(compact({ scopes: added, claims }), find("claim").value);
  find("tenant").value = tenant ?? find("tenant").value;
  find("add").value = "";
  showCaller();
});

document.title = escapeHidden(data.title);
document.querySelector("h1")?.append(escapeHidden(data.title));
find("summary").textContent =
  `${policy.rules.rules.length} rules. Admin scope: ${data.adminScope ?? "none"}. Policy ${data.policy}.`;
const notes = [
  ...(data.baseTable === undefined ? [] : [data.baseTable]),
  ...(data.authorization ? [] : ["Scopes aren't checked: authorization is off."]),
  ...(data.unmappedRoutes !== "authenticated" ? [] : ["Without a rule, a valid token is enough."]),
  ...data.implied.map(([scope, implied]) => `${scope} implies ${implied.join(", ")}.`),
];
find("notes").append(...notes.map((note) => make("li", "", note)));
find("audit").hidden = data.audit === undefined;
find("result").textContent = data.audit ?? "";
for (const { severity, message, hint } of data.findings)
  find("findings").append(
    make("li", "", make("b", severity, severity), ` ${message} `, make("small", "", hint)),
  );
for (const id of ["caller", "claim"]) find(id).addEventListener("input", showCaller);
for (const id of ["tenant", "method", "path"]) find(id).addEventListener("input", explain);
for (const id of ["filter", "show"]) find(id).addEventListener("input", table.search);

// The page opens with a decision: that of the first rule with scopes, for a caller who has them. The reader's
// own rules come before those of a base table.
const candidates = policy.rules.rules.filter((rule) => !rule.pattern.operation && namedIn(rule).length > 0);
const written = candidates.find(({ rule }) => rule.source !== "default");
const example = written ?? candidates[0] ?? policy.rules.rules[0];
if (example) {
  find("caller").value = namedIn(example).join(" ");
  find("method").value = sampleMethodOf(example);
  find("path").value = samplePathOf(example);
}
showCaller();
