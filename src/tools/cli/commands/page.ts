import { compact } from "../../../core/runtime/compact.ts";
import { page as renderPage } from "../../page/index.ts";
import type { Command } from "../command.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";
import { readRoles } from "../roles.ts";

export const page: Command = {
  name: "page",
  summary: "Write the policy as one HTML file: the table, who may call what, and why not.",
  words: [],
  options: {
    ...POLICY_OPTIONS,
    title: { value: "TEXT", text: "the heading. Default: Policy" },
    roles: { value: "FILE", text: "the scopes of each role, as for matrix" },
  },
  examples: [
    [
      "--app ./app.js --roles roles.json > policy.html",
      "Includes the audit of the application, and the roles.",
    ],
  ],
  async run(input) {
    const [title, file] = [input.text("title"), input.text("roles")];
    const [{ server, routes }, roles] = await input.all(
      () => readPolicy(input),
      () => (file === undefined ? {} : readRoles(file)),
    );
    const html = renderPage(server, { roles, ...compact({ routes, title }) });
    return { data: { html }, text: html, isFile: true };
  },
};
