/** What the workflows run, and what they may do. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: object;
  readonly "timeout-minutes"?: number;
  readonly strategy?: {
    readonly matrix: {
      readonly suite?: readonly string[];
      readonly include?: readonly { readonly suite?: string }[];
    };
  };
  readonly services?: Readonly<Record<string, { readonly image: string }>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions?: object;
  readonly concurrency?: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const files = readdirSync(join(ROOT, ".github/workflows")).map((name) => `.github/workflows/${name}`);
const workflows = files.map((file) => ({ file, workflow: parse(read(file)) as Workflow }));
const jobs = workflows.flatMap(({ file, workflow }) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file}: ${name}`, file, job })),
);

const { scripts } = JSON.parse(read("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** The scripts of package.json that shell commands run. */
const scriptsIn = (commands: string): readonly string[] =>
  [...commands.matchAll(/\bnpm (?:(test)\b|run (?:--silent )?([\w:]+))/g)].map(
    ([, test, script = ""]) => test ?? script,
  );

/** The scripts that the jobs of a workflow run, with the suites of their matrices. */
function scriptsOf(workflowFile: string): ReadonlySet<string> {
  const ofFile = jobs.filter(({ file }) => file === workflowFile);
  return new Set(
    ofFile.flatMap(({ job: { strategy, steps } }) => [
      ...steps.flatMap(({ run = "" }) => scriptsIn(run)),
      ...(strategy?.matrix.suite ?? []),
      ...(strategy?.matrix.include ?? []).flatMap(({ suite }) => suite ?? []),
    ]),
  );
}

const inTests = scriptsOf(".github/workflows/test.yml");
const isSuite = (script: string): boolean => /^(?:demo|test)(?::|$)/.test(script);

describe("the workflow of tests", () => {
  const local = new Set(scriptsIn(read(".ci/run").replaceAll(/^#.*$/gm, "")).filter(isSuite));

  it("runs every suite of .ci/run", () => {
    expect(local).toContain("test:cluster");
    expect([...local].filter((script) => !inTests.has(script))).toEqual([]);
  });

  it("runs no suite that .ci/run leaves out, except the tests of `npm test` with their coverage", () => {
    const others = [...inTests].filter((script) => isSuite(script) && !local.has(script));
    expect(others).toEqual(["test:coverage"]);
  });

  it("runs every suite of package.json, together with the nightly workflow", () => {
    const nightly = scriptsOf(".github/workflows/nightly.yml");
    const others = Object.keys(scripts).filter(
      (script) => isSuite(script) && !inTests.has(script) && !nightly.has(script),
    );
    // It runs the tests with each version of Node.js, as the matrix of the workflow does.
    expect(others).toEqual(["test:matrix"]);
  });
});

describe("a workflow", () => {
  it.each(workflows)("runs scripts and tests that exist: $file", ({ file, workflow }) => {
    expect([...scriptsOf(file)].filter((script) => scripts[script] === undefined)).toEqual([]);
    const commands = Object.values(workflow.jobs).flatMap(({ steps }) => steps.map(({ run = "" }) => run));
    const paths = commands.flatMap((command) =>
      [...command.matchAll(/\bnpx vitest run ([^\n]*)/g)].flatMap(([, list = ""]) => list.split(" ")),
    );
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each([...files, "docs/ci/policy.yml"])(
    "pins actions by their full commit, with the version as a comment: %s",
    (file) => {
      const uses = [...read(file).matchAll(/\buses: (.*)$/gm)].map(([, action = ""]) => action);
      expect(uses.filter((action) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
    },
  );

  it("uses the same commit of an action everywhere", () => {
    const pins = [...files, "docs/ci/policy.yml"].flatMap((file) =>
      [...read(file).matchAll(/\buses: ([^\s@]+)@(.*)$/gm)].map(([, path = "", pin = ""]) => ({
        // The actions of CodeQL are folders of one repository.
        repository: path.split("/").slice(0, 2).join("/"),
        pin,
      })),
    );
    const several = pins.filter(({ repository, pin }) =>
      pins.some((other) => other.repository === repository && other.pin !== pin),
    );
    expect(several).toEqual([]);
  });

  it.each(workflows)("grants no permission to all jobs, and limits parallel runs: $file", ({ workflow }) => {
    expect(workflow.permissions).toEqual({});
    expect(workflow.concurrency).toBeDefined();
  });

  it.each(jobs)("lists the permissions and the time limit of the job $name", ({ job }) => {
    expect(job.permissions).toBeDefined();
    expect(job["timeout-minutes"]).toBeGreaterThan(0);
  });

  it.each(jobs)("leaves no token on the disk, and pins images by their digest, in $name", ({ job }) => {
    for (const { with: inputs } of job.steps.filter(({ uses }) => uses?.startsWith("actions/checkout@")))
      expect(inputs?.["persist-credentials"]).toBe(false);
    for (const { image } of Object.values(job.services ?? {})) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
  });

  it.each(jobs)("puts no expression into the commands of $name", ({ job }) => {
    expect(job.steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
  });
});
