/** The table: each rule, what the caller may do, and what each role may do. */
import { describeRule } from "../../../core/policy/describe.ts";
import type { Policy } from "../../../core/policy/policy.ts";
import type { Principal } from "../../../core/token/principal.ts";
import { sampleMethodOf, samplePathOf } from "../../shared/sample-path.ts";
import type { PageData } from "../page-data.ts";
import { whoMay } from "../who-may.ts";
import { callerWithRole } from "./caller.ts";
import { find, make } from "./dom.ts";

const LABELS = { yes: "✓ allowed", some: "◐ partly", no: "✗ refused" };

/** Creates the table. Returns functions to show another caller and to search. */
export function createTable(policy: Policy, data: PageData, ask: (method: string, path: string) => void) {
  const roles = data.roles.map(([name, role]) => {
    const { scopes, claims, tenant } = callerWithRole(role);
    return { name, caller: scopes && policy.callerWith(scopes, claims, tenant) };
  });
  const headings = ["Rule", "Requires", "Source", "Caller", ...roles.map(({ name }) => name)];
  find("head").append(...headings.map((heading) => make("th", "", heading)));
  const rows = policy.rules.rules.map((compiled) => {
    const { key, method, pattern, source } = compiled.rule;
    const requires = describeRule(compiled);
    const findings = data.findings.filter(({ rule }) => rule === key);
    const notes = findings.map(({ severity, message }) => make("p", severity, `${severity}: ${message}`));
    const button = make("button", "", make("b", "", method), make("code", "", pattern));
    button.addEventListener("click", () => ask(sampleMethodOf(compiled), samplePathOf(compiled)));
    const decide = (caller: Principal | undefined, name: string) => {
      const { state, why } = whoMay(policy, compiled, caller);
      return {
        state,
        cell: make("td", state, make("i", "", `${name} `), LABELS[state], make("small", "", why)),
      };
    };
    const cells = [make("td", "", make("code", "", requires)), make("td", source, source), make("td", "")];
    const ofRoles = roles.map(({ name, caller }) => decide(caller, name).cell);
    const row = make("tr", "", make("th", "", button, ...notes), ...cells, ...ofRoles);
    const words = `${key} ${requires} ${source} ${notes.map(({ textContent }) => textContent).join(" ")}`;
    return { row, decide, words: words.toLowerCase(), isWarned: notes.length > 0, state: "" };
  });
  find("body").append(...rows.map(({ row }) => row));
  const search = (): void => {
    const words = find("filter").value.toLowerCase().split(/\s+/);
    const show = find("show").value;
    const count = { "": 0, yes: 0, some: 0, no: 0 };
    for (const { row, state, isWarned, words: rowWords } of rows) {
      const isShown = show === "warned" ? isWarned : show === "" || show.includes(state);
      row.hidden = !isShown || !words.every((word) => rowWords.includes(word));
      count[state as keyof typeof count] += 1;
      if (!row.hidden) count[""] += 1;
    }
    const summary = `${count[""]} of ${rows.length} rules. The caller may use ${count.yes}`;
    find("count").textContent = `${summary}, and ${count.some} more partly.`;
  };
  const showCaller = (scopes: readonly string[] | undefined): void => {
    const caller = scopes && policy.callerWith(scopes);
    for (const listed of rows) {
      const { state, cell } = listed.decide(caller, "Caller");
      listed.row.children[3]?.replaceWith(cell);
      listed.state = state;
    }
    search();
  };
  return { search, showCaller };
}
