import { audit as auditRoutes } from "../../audit/audit.ts";
import { type Command, UsageError } from "../command.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

const ROUTES_MISSING =
  "audit needs the routes of an application: write --app ./app.js, and export `app` or `routes` from this file.";

export const audit: Command = {
  name: "audit",
  summary: "Check that every route of an application has a rule and is registered after protect.",
  words: [],
  options: {
    ...POLICY_OPTIONS,
    "public-catch-all": { value: "KEY", isRepeatable: true, text: "a public rule for every path to allow" },
    "guarded-elsewhere": { value: "PATTERN", isRepeatable: true, text: "paths that another guard checks" },
    warnings: { text: "treat warnings as findings" },
  },
  examples: [
    [
      "--app ./app.js",
      "Checks the routes of the application against the table of the server that the module exports.",
    ],
    [
      "--app ./app.js --config scopegate.json --warnings",
      "Checks against the table of a configuration. Warnings fail as well, for CI.",
    ],
    ["--app src/app --config scopegate.json", "Checks a Next.js application, with its next.config."],
  ],
  async run(input) {
    const [{ server, routes }] = await input.all(() => {
      if (!input.has("app")) throw new UsageError(ROUTES_MISSING);
      return readPolicy(input);
    });
    if (!routes) throw new UsageError(ROUTES_MISSING);
    const publicCatchAll = input.texts("public-catch-all");
    const guardedElsewhere = input.texts("guarded-elsewhere");
    const keys = server.routes.map(({ key }) => key);
    const unknown = publicCatchAll.filter((key) => !keys.includes(key));
    if (unknown.length > 0)
      throw new UsageError("--public-catch-all takes the key of a rule: see scopegate routes.");
    const { ok, summary, findings, text } = auditRoutes(server, routes, { publicCatchAll, guardedElsewhere });
    const isStrict = input.has("warnings") && findings.some(({ severity }) => severity === "warning");
    return { isFinding: !ok || isStrict, data: { ok: ok && !isStrict, summary, findings }, text };
  },
};
