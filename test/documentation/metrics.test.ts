/** Scrapes a real server, and compares what it exports with the dashboard, the alerts and the list of docs/guides/metrics.md. */
import { createServer as createHttpServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { parser } from "@prometheus-io/lezer-promql";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { protect } from "scopegate/express";
import { apiKeys } from "scopegate/api-keys";
import { remoteKeys } from "scopegate/keys";
import { startTelemetry } from "scopegate/otel";
import { sharedRevocation } from "scopegate/revocation";
import { memoryStore, type Store } from "scopegate/store";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { setOf } from "../support/remote-keys.ts";
import { createResourceServer } from "../support/server.ts";
import { pageOf, ROOT } from "./markdown.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

const { panels } = JSON.parse(readFileSync(join(ROOT, "docs/grafana/scopegate.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};
const page = pageOf("docs/guides/metrics.md");
const yaml = readFileSync(join(ROOT, "docs/grafana/alerts.yml"), "utf8");
const alerts = (parseYaml(yaml) as Rules).groups.flatMap(({ rules }) => rules);
const queries = [
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
];

/** The labels of each sample, by the name of its metric. */
type Samples = ReadonlyMap<string, readonly Readonly<Record<string, string>>[]>;

let samples: Samples;
let exported: string;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  const issuer = createIssuer({ audience: "orders", kid: "first" });
  let isDown = false;
  const fetch = () =>
    Promise.resolve(isDown ? new Response(null, { status: 500 }) : Response.json(setOf(issuer)));
  let isStoreDown = false;
  const memory = memoryStore();
  const store: Store = {
    ...memory,
    get: (keys) => (isStoreDown ? Promise.reject(new Error("It failed.")) : memory.get(keys)),
  };
  const server = createResourceServer({
    serviceId: "orders",
    issuer: "https://login.example/",
    keys: remoteKeys({ jwksUri: "https://login.example/keys?key=canary", fetch }),
    scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"], "GET /metrics": "public" },
    tokenCache: { maxEntries: 1 },
    revocation: sharedRevocation(store, { onEvent: () => undefined, whenDown: "accept" }),
    opaqueTokens: [apiKeys({ prefix: "key_", find: () => Promise.resolve(undefined) })],
    onKeyEvent: () => undefined,
  });
  await server.ready();
  isStoreDown = true;
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const app = express().use(protect(server));
  app.get("/stores/:store_id", (_request, response) => void response.json({}));
  app.get("/metrics", (request, response) => exporter.getMetricsRequestHandler(request, response));
  const { port, close } = await listen(createHttpServer(app));
  ends.push(
    startTelemetry(server, { meterProvider }),
    close,
    () => server.close(),
    () => meterProvider.shutdown(),
  );

  const token = (subject: string, claims: object = {}) =>
    issuer.token({ iss: "https://login.example/", sub: subject, scopes: ["stores:berlin:read"], ...claims });
  const [first, second, rejected] = [
    await token("canary-1"),
    await token("canary-2"),
    await token("c", { aud: "x" }),
  ];
  const statuses = [];
  for (const one of [first, first, second, rejected, undefined])
    statuses.push((await ask(port, { path: "/stores/berlin?key=canary", token: one })).status);
  statuses.push((await ask(port, { path: "/stores/canary", token: first })).status);
  isDown = true;
  await server.refreshKeys().catch(() => undefined);
  expect(statuses).toEqual([200, 200, 200, 401, 401, 403]);
  const scraped = await ask(port, { path: "/metrics" });
  expect(scraped.status).toBe(200);
  exported = scraped.text;
  samples = samplesOf(exported);
});
afterAll(async () => {
  for (const end of ends) await end();
});

function samplesOf(text: string): Samples {
  const found = new Map<string, Readonly<Record<string, string>>[]>();
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+(?: \d+)?$/gm)) {
    const pairs = [...labels.matchAll(/\b(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", value = ""]) => [
      key,
      value,
    ]);
    found.set(name, [...(found.get(name) ?? []), Object.fromEntries(pairs) as Record<string, string>]);
  }
  return found;
}

interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** The selectors and the grouping labels of a PromQL expression. Throws for one that cannot be parsed. */
function readQuery(query: string) {
  // Grafana replaces its variables before it sends the query.
  const text = query.replaceAll("$__rate_interval", "5m");
  const selectors: { metric: string; matchers: Matcher[] }[] = [];
  const groupings: string[] = [];
  parser.parse(text).iterate({
    enter: ({ name, type, from, to, node }) => {
      const own = text.slice(from, to);
      if (type.isError) throw new Error(`${text} is not valid at ${from}.`);
      if (name === "VectorSelector") {
        const metric = node.getChild("Identifier");
        selectors.push({ metric: metric ? text.slice(metric.from, metric.to) : "", matchers: [] });
      }
      if (name === "UnquotedLabelMatcher") {
        const [, label = "", operator = "", value = ""] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/.exec(own) ?? [];
        selectors.at(-1)?.matchers.push({ label, operator, value });
      }
      if (name === "LabelName" && node.parent?.name === "GroupingLabels") groupings.push(own);
    },
  });
  return { selectors, groupings };
}

describe("a query of the dashboard or of an alert", () => {
  it.each(queries)("finds series in what a real server exports: %s", (_title, query) => {
    const { selectors, groupings } = readQuery(query);
    expect(selectors.length).toBeGreaterThan(0);
    const labels = new Set<string>();
    for (const { metric, matchers } of selectors) {
      const known = samples.get(metric) ?? [];
      expect(known.length, `no series of ${metric}`).toBeGreaterThan(0);
      for (const one of known) for (const label of Object.keys(one)) labels.add(label);
      for (const { label, operator, value } of matchers) {
        const values = known.flatMap((one) => one[label] ?? []);
        expect(values.length, `${metric} has no label ${label}`).toBeGreaterThan(0);
        // Prometheus anchors regular expressions.
        const options = operator === "=~" ? value.split("|") : [value];
        if (!operator.startsWith("!"))
          expect(
            values.some((one) => options.includes(one)),
            `${label} is never ${value}`,
          ).toBe(true);
      }
    }
    expect(groupings.filter((label) => !labels.has(label))).toEqual([]);
  });

  it("causes an error if it is not PromQL, and finds no series for an unknown metric", () => {
    expect(() => readQuery("sum(rate(scopegate_decisions_total[5m])")).toThrow("is not valid");
    expect(samples.get("scopegate_decisions")).toBeUndefined();
  });
});

describe("the dashboard", () => {
  it("contains a title, a description and the chosen data source in every panel, and legends with known labels", () => {
    for (const { title, type, description, datasource, targets = [] } of panels) {
      if (type === "row") continue;
      expect([title, description].map((text = "") => text.length > 0)).toEqual([true, true]);
      expect(datasource?.uid).toBe("${datasource}");
      for (const { expr, legendFormat } of targets) {
        const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        expect(readQuery(expr).groupings, title).toEqual(expect.arrayContaining(used));
      }
    }
    expect(queries.length).toBeGreaterThan(20);
  });

  it("contains panels with unique ids, which do not overlap", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});

describe("docs/guides/metrics.md", () => {
  it("lists every metric that is exported, with its attributes, and no other", () => {
    const rows = [...page.text.matchAll(/^- `(scopegate\.[\w.]+)` \((\w+)(?:, \w+)?\)(.*)$/gm)];
    const listed = rows.map(
      ([, name = "", kind]) => name.replaceAll(".", "_") + (kind === "counter" ? "_total" : ""),
    );
    const names = [...exported.matchAll(/^# TYPE (scopegate_\w+) /gm)].map(([, name = ""]) => name);
    expect([...listed].sort()).toEqual([...names].sort());
    for (const [index, [, , kind, attributes = ""]] of rows.entries()) {
      const name = listed[index] ?? "";
      const series = samples.get(kind === "histogram" ? `${name}_count` : name) ?? [];
      const found = series
        .flatMap((one) => Object.keys(one))
        .filter((label) => label.startsWith("scopegate_"));
      for (const label of new Set(found))
        expect(attributes, name).toContain(label.replace("scopegate_", "").replaceAll("_", "."));
    }
  });

  it("promises that only the rule for a request is exported", () => {
    expect(exported).not.toMatch(/canary|user-/);
    expect(exported).toContain('scopegate_rule="GET /stores/:store_id"');
    expect(exported).not.toContain("description missing");
  });
});
