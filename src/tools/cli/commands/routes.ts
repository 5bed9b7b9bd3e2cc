import { pipelineOf } from "../../../core/port.ts";
import { describeRequirement } from "../../../core/policy/describe.ts";
import { describeBaseTable } from "../../shared/base-table.ts";
import { renderColumns } from "../../shared/table.ts";
import type { Command } from "../command.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

export const routes: Command = {
  name: "routes",
  summary: "List the rules of the table and their sources. For the routes of an application, use audit.",
  words: [],
  options: POLICY_OPTIONS,
  examples: [
    ["--config scopegate.json", "Lists the rules of the file and of its base table."],
    ["--app ./app.js --json", "Prints the table of the server that the module exports, as JSON."],
  ],
  async run(input) {
    const [{ server }] = await input.all(() => readPolicy(input));
    const rows = server.routes.map(({ key, requirement, source }) => [
      key,
      describeRequirement(requirement),
      source,
    ]);
    const { unmapped, rules } = pipelineOf(server).policy;
    const refused = rules.unmappedRoutes === "not_found" ? "refused with 404" : "refused";
    const others = unmapped === "refused" ? refused : "a valid token";
    rows.push(["every other route", others, "unmapped_routes"]);
    const lines = [renderColumns(rows), describeBaseTable(rules)].filter((line) => line !== undefined);
    return { data: { rules: server.routes, others }, text: lines.join("\n") };
  },
};
