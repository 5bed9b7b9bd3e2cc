/** Compares the pages with the source: links, names, tables and pictures. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import * as scopegate from "scopegate";
import * as auditTool from "scopegate/audit";
import type { RefusalReason, Refused, Rejection, ScopeMappings } from "scopegate";
import { explain } from "scopegate/explain";
import { jwksFile } from "scopegate/keys";
import { pictures } from "../../docs/pictures/pictures.ts";
import { FINDING_KINDS } from "../../src/tools/audit/kinds.ts";
import { OPTION_NAMES } from "../../src/core/options/shape.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";
import { createIssuer } from "../support/issuer.ts";
import { createServer, issuesOf } from "../support/resource-servers.ts";
import { fileOf, scopegate as runCommand, useFolder } from "../tools/cli/support.ts";
import { itemsOf, pageOf, pages, ROOT, sectionOf, tableOf } from "./markdown.ts";
import { examples, findFallbacks, programs, snippets } from "./snippets.ts";
import { tablesOf } from "./tables.ts";
import { unionOf } from "./unions.ts";

const REASONS = unionOf("src/core/policy/decision.ts", "RefusalReason") as readonly RefusalReason[];
const REJECTIONS = unionOf("src/core/errors.ts", "Rejection") as readonly Rejection[];
const ISSUE_CODES = unionOf("src/core/errors.ts", "ConfigurationIssueCode");

useFolder();

const unquoted = (cell: string): string => cell.replaceAll("`", "");

describe("the code", () => {
  it("gives no key and no secret a fallback, which everyone who reads it would know", () => {
    for (const code of [
      'f({ verificationKeys: [process.env.JWT_SECRET ?? "at least 32 characters"] });',
      'const secret = process.env["SECRET"] || "x";',
      'createServer({ key: options.text ?? "x" });',
      'const { JWT_PUBLIC_KEY = "x" } = process.env;',
    ])
      expect(findFallbacks(code), code).toHaveLength(1);
    expect(findFallbacks("const count = (counts.get(key) ?? 0) + 1;")).toEqual([]);
    const all = [...snippets, ...examples, ...programs];
    expect(all.flatMap(({ name, code }) => findFallbacks(code).map((text) => `${name}: ${text}`))).toEqual(
      [],
    );
  });
});

describe("links", () => {
  it.each(pages)("lead from $path to files and headings that exist", ({ path, links, anchors }) => {
    for (const link of links.filter((one) => !/^[a-z]+:/.test(one))) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : relative(ROOT, join(ROOT, dirname(path), file));
      expect(existsSync(join(ROOT, target)), `${path}: ${link}`).toBe(true);
      if (anchor === undefined) continue;
      const known = file === "" ? anchors : pageOf(target).anchors;
      expect([...known], `${path}: ${link}`).toContain(anchor);
    }
  });

  it("have no equal for tests, which aren't in the package: a page names the file, and it exists", () => {
    for (const { path, prose } of pages)
      for (const [, file = ""] of prose.matchAll(/`(test\/[\w/.-]+)`/g))
        expect(existsSync(join(ROOT, file)), `${path}: ${file}`).toBe(true);
    expect(pageOf("docs/understand/reviewers.md").prose).toContain("`test/security/tokens/form.ts`");
  });

  it("lead only to files of the package, from every page that is in it, except to pages for contributors", () => {
    const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const packed = execFileSync("npm", pack, {
      ...CHILD_LIMIT,
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [{ files }] = JSON.parse(packed) as [{ readonly files: readonly { readonly path: string }[] }];
    const paths = files.map(({ path }) => path);
    const isPacked = (target: string) =>
      paths.some((path) => path === target || path.startsWith(`${target}/`));
    const packedPages = pages.filter(({ path }) => paths.includes(path));
    expect(packedPages.length).toBeGreaterThan(50);
    /** The pages that a map lists although they are only in the repository. */
    const listed = new Set([
      "CONTRIBUTING.md",
      "REVIEW-CHECKLIST.md",
      "docs/decisions/README.md",
      "corpora/README.md",
      ...["benchmarks", "vulnerabilities"].map((page) => `docs/reference/${page}.md`),
    ]);
    expect(
      paths.filter((path) => listed.has(path) || /^docs\/(?:benchmarks|decisions)\//.test(path)),
    ).toEqual([]);
    const isListed = (path: string, target: string) =>
      ["README.md", "docs/README.md"].includes(path) && listed.has(target);
    const dead = packedPages.flatMap(({ path, links }) =>
      links
        .filter((link) => !/^[a-z]+:|^#/.test(link))
        .map((link) => join(dirname(path), link.split("#")[0] ?? "").replace(/\/$/, ""))
        .filter((target) => !isPacked(target) && !isListed(path, target))
        .map((target) => `${path}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it("lead from README.md, and from the map that it links to, to every page", () => {
    const linkedFrom = (path: string) =>
      pageOf(path).links.map((link) => relative(ROOT, join(ROOT, dirname(path), link.split("#")[0] ?? "")));
    expect(linkedFrom("README.md")).toContain("docs/README.md");
    const linked = new Set(["README.md", "docs/README.md"].flatMap(linkedFrom));
    const others = pages
      .map(({ path }) => path)
      .filter((path) => path !== "README.md" && !path.startsWith("docs/decisions/"));
    expect(others.filter((path) => !linked.has(path))).toEqual([]);
  });
});

describe("a page", () => {
  it("shows the commands of the workflow of docs/ci/policy.yml, and links to it", () => {
    const { links, blocks } = pageOf("docs/guides/ci.md");
    expect(links).toContain("../ci/policy.yml");
    const workflow = readFileSync(join(ROOT, "docs/ci/policy.yml"), "utf8");
    const commands = [...workflow.matchAll(/run: (npx scopegate .*)/g)].map(([, command]) => `${command}\n`);
    expect(commands.length).toBe(4);
    expect(blocks.map(({ code }) => code)).toContain(commands.join(""));
  });

  it.each([
    ["which setting shows why I get 401", "docs/guides/troubleshooting.md", "NODE_DEBUG=scopegate"],
    ["where static files go", "docs/guides/static-files.md", "`protect`"],
    ["whether Jest works", "docs/guides/testing.md", "Jest"],
    ["whether there is an admin scope", "docs/reference/options.md", "`platform:admin`"],
    ["whether tokens without `exp` pass", "docs/reference/options.md", '`requiredClaims: ["exp"]`'],
  ])("explains, one click from the list of pages, %s", (_question, path, answer) => {
    const section = sectionOf(pageOf("docs/README.md"), "Common questions");
    expect(section).toContain(`](${path.slice("docs/".length)}`);
    // In the first screen of the page.
    expect(pageOf(path).text.slice(0, 3_000)).toContain(answer);
  });
});

describe("README.md", () => {
  const page = pageOf("README.md");
  const blockWith = (part: string): string => page.blocks.find(({ code }) => code.includes(part))?.code ?? "";

  it("shows what the command line prints for its table", async () => {
    const [, table = ""] = /scopeMappings = (\{.*\});/s.exec(blockWith("const scopeMappings")) ?? [];
    const scope_mappings = runInNewContext(`(${table})`) as ScopeMappings;
    const keys = { verification_keys: [createIssuer().publicPem], verify_audience: false };
    const config = fileOf({ ...keys, default_scope_mappings: {}, scope_mappings }, "readme.json");
    const shown = blockWith("decision").trim();
    const [, method = "", path = ""] = /^(\S+) (\S+)\n/.exec(shown) ?? [];
    const [, scope = ""] = /granted +(\S+)/.exec(shown) ?? [];
    const { out } = await runCommand(["explain", method, path, "--config", config, "--scope", scope]);
    expect(out.trim()).toBe(shown);
    // The server below has the same table.
    for (const line of table.split("\n").slice(1, -1)) expect(blockWith("app.listen")).toContain(line.trim());
  });

  it("has at most 600 words, with code, as `wc -w` counts them", () => {
    expect(page.text.split(/\s+/).filter((word) => word !== "").length).toBeLessThanOrEqual(600);
  });

  it("says what the defaults open", () => {
    const defaults = sectionOf(page, "Defaults to know");
    expect(defaults).toContain("`stores:read`, covers every store");
    expect(defaults).toContain("tokens without `exp` never expire");
  });
});

describe("docs/reference/options.md", () => {
  it("lists every option", () => {
    const listed = itemsOf(pageOf("docs/reference/options.md").text)
      .map(([name]) => name)
      .filter((name) => /^\w+$/.test(name));
    expect(OPTION_NAMES.filter((name) => !listed.includes(name))).toEqual([]);
    expect(listed.filter((name) => !OPTION_NAMES.includes(name))).toEqual([]);
  });
});

describe("docs/understand/table.md", () => {
  it("shows which rule decides", () => {
    const page = pageOf("docs/understand/table.md");
    const devices = tablesOf(page).find(({ name }) => name === "A fleet of devices");
    const server = createServer(devices?.options);
    const rows = tableOf(sectionOf(page, "A fleet of devices"), "request").map((row) => row.map(unquoted));
    expect(rows.length).toBeGreaterThanOrEqual(5);
    for (const [request = "", , , deciding] of rows) {
      const [method = "", path = ""] = request.split(" ");
      expect(explain(server, { method, path }).decision.rule?.key, request).toBe(deciding);
    }
  });

  it.each(Object.entries(pictures))(
    "shows %s as the library decides (npm run docs:pictures)",
    (name, draw) => {
      expect(readFileSync(join(ROOT, "docs/pictures", name), "utf8")).toBe(draw());
    },
  );
});

describe("docs/reference/configuration-file.md", () => {
  it("shows agentScopeMappings", () => {
    const shown = pageOf("docs/reference/configuration-file.md").blocks.filter(
      ({ language }) => language === "json",
    );
    const values = shown.map(({ code }) => JSON.parse(code) as unknown);
    expect(values).toContainEqual({
      admin_scope: "platform:admin",
      default_scope_mappings: scopegate.agentScopeMappings,
    });
  });
});

describe("docs/reference/refusals.md", () => {
  const page = pageOf("docs/reference/refusals.md");

  it("lists every reason and every rejection once, with its cause and its fix", () => {
    const parts = sectionOf(page, "Causes and fixes").split(/^### /m).slice(1);
    const names = parts.map((part) => /^`(\w+)`\n/.exec(part)?.[1]);
    // `token_rejected` is described by its rejections.
    const expected = [...REASONS.filter((reason) => reason !== "token_rejected"), ...REJECTIONS];
    expect([...names].sort()).toEqual(expected.sort());
    for (const part of parts) {
      expect(part).toContain("**Cause:**");
      expect(part).toContain("**Fix:**");
    }
  });

  const server = createServer();
  const refused = (reason: RefusalReason, rejection?: Rejection): Refused => ({
    allowed: false,
    reason,
    rules: [],
    required: ["stores:berlin:write"],
    granted: [],
    missing: ["stores:berlin:write"],
    satisfied: [],
    ...(rejection && { rejection }),
  });

  it("shows the status, detail and challenge of each reason and rejection", () => {
    const items = itemsOf(sectionOf(page, "Responses").replaceAll(/\]\([^)]*\)|\[/g, ""));
    const textOf = (name: string): string => items.find(([item]) => item === name)?.[1] ?? "";
    const listed = REJECTIONS.filter((one) => textOf(one) !== "");
    for (const reason of REASONS) {
      for (const rejection of reason === "token_rejected" ? REJECTIONS : [undefined]) {
        const { status, problem, headers } = server.refuse(refused(reason, rejection));
        const about = `${reason} ${rejection}`;
        const [shown = "", others] = textOf(reason).split(" Four rejections have");
        expect(others !== undefined, about).toBe(reason === "token_rejected");
        const challenge = headers["WWW-Authenticate"];
        const error = /error="\w+"/.exec(challenge ?? "")?.[0] ?? (challenge ? "Bearer" : "no challenge");
        expect(shown.startsWith(`: ${status}, `), about).toBe(true);
        expect(shown, about).toContain(error);
        if (rejection !== undefined && listed.includes(rejection))
          expect(textOf(rejection), about).toBe(`: ${problem.detail}`);
        else expect(shown.endsWith(`. ${problem.detail}`), about).toBe(true);
      }
    }
    expect(listed.length).toBe(4);
    expect(items.length).toBe(REASONS.length + listed.length);
    for (const rejection of REJECTIONS) expect(page.text, rejection).toContain(`\`${rejection}\``);
  });

  it("shows the body that the server returns for a refusal", () => {
    const [json] = page.blocks.filter(({ language }) => language === "json");
    expect(JSON.parse(json?.code ?? "")).toEqual(server.refuse(refused("scope_insufficient")).body);
  });
});

describe("docs/reference/server.md", () => {
  const page = pageOf("docs/reference/server.md");

  it("lists every code of a configuration error, with an example that causes it", () => {
    const items = itemsOf(sectionOf(page, "ConfigurationError"));
    expect(items.map(([code]) => code).sort()).toEqual([...ISSUE_CODES].sort());
    const { publicPem, privateKey } = createIssuer();
    const privatePem = privateKey.export({ format: "pem", type: "pkcs8" });
    for (const [code, rest] of items) {
      const example = /: `([^`]+)`$/.exec(rest)?.[1] ?? "";
      expect(example, code).not.toBe("");
      const options = runInNewContext(`({ ${example} })`, { privatePem, jwksFile }) as object;
      const given = { serviceId: "orders", verificationKeys: [publicPem], ...options };
      expect(
        issuesOf(given).map((issue) => issue.code),
        example,
      ).toContain(code);
    }
  });

  it("names every exported error class", () => {
    const classes = Object.entries({ ...scopegate, ...auditTool }).filter(
      ([, value]) => value instanceof Function && value.prototype instanceof Error,
    );
    for (const [name] of classes) expect(page.text).toContain(`\`${name}\``);
    expect(classes.length).toBeGreaterThanOrEqual(4);
  });
});

describe("other tables", () => {
  it("list every finding of an audit, every way to satisfy a scope and every key event", () => {
    const found = sectionOf(pageOf("docs/guides/audit.md"), "What it finds").replaceAll(
      /\]\([^)]*\)|\[/g,
      "",
    );
    for (const [kind, meaning] of Object.entries(FINDING_KINDS))
      expect(found.replaceAll(/ +/g, " ")).toContain(`- \`${kind}\`: ${meaning}`);
    for (const by of unionOf("src/core/scopes/scope.ts", "SatisfiedBy"))
      expect(sectionOf(pageOf("docs/reference/server.md"), "How a scope is satisfied")).toContain(
        `\n- \`${by}\`: `,
      );
    for (const type of ["fetched", "rotated", "failed", "stale", "stale_ended"])
      expect(pageOf("docs/guides/key-rotation.md").text).toContain(`\`${type}\``);
  });

  it("list every folder of src in CONTRIBUTING.md, and name only files and scripts that exist", () => {
    const { text } = pageOf("CONTRIBUTING.md");
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
    const suites = tableOf(text, "suites").flatMap(([cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => `test:${name}`),
    );
    const tests = Object.keys(scripts).filter((name) => name.startsWith("test:"));
    expect(suites.sort()).toEqual(tests.sort());
    for (const [, name = ""] of text.matchAll(/`npm run ([\w:]+)/g))
      if (name !== "test:NAME") expect(Object.keys(scripts)).toContain(name);
    for (const entry of readdirSync(join(ROOT, "src"), { withFileTypes: true }))
      if (entry.isDirectory()) expect(text).toContain(`\`${entry.name}/\``);
    const named = [...text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(10);
    for (const path of named.filter((one) => !one.includes("NAME") && one !== "docs/api"))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
  });
});
