/** The pictures show what the library returns, so that they cannot differ from what it does. */
import {
  createResourceServer,
  type RefusalReason,
  type ResourceServer,
  type Rule,
  type Requirement,
  type ScopeMappings,
} from "scopegate";
import { arrow, box, dot, line, picture, text } from "./svg.ts";

const createServer = (
  scopeMappings: ScopeMappings,
  defaultScopeMappings: ScopeMappings = {},
): ResourceServer =>
  createResourceServer({
    verifyAudience: false,
    algorithm: "HS256",
    verificationKeys: ["a secret of thirty-two bytes or more"],
    scopeMappings,
    defaultScopeMappings,
  });

/** The steps in order, each with the refusals that it makes. */
const STEPS: readonly (readonly [name: string, question: string, refusals: readonly RefusalReason[]])[] = [
  ["target", "a clear path?", ["request_ambiguous"]],
  ["rules", "which ones?", ["route_unmapped"]],
  ["credential", "one token?", ["credential_missing", "credential_malformed"]],
  ["token", "genuine?", ["token_rejected", "keys_unavailable"]],
  ["scopes", "enough?", ["scope_insufficient"]],
];

function drawRequest(): string {
  const server = createServer({});
  const statusOf = (reason: RefusalReason): number => {
    const nothing = { rules: [], required: [], granted: [], missing: [], satisfied: [] };
    return server.refuse({ allowed: false, reason, ...nothing }).status;
  };
  const shapes = STEPS.flatMap(([name, question, refusals], index) => {
    const x = 10 + index * 170;
    return [
      box("box", { x, y: 20 }, 130, 54),
      text(name, { x: x + 65, y: 43 }, "bold", "middle"),
      text(question, { x: x + 65, y: 62 }, "small", "middle"),
      arrow({ x: x + 130, y: 47 }, { x: x + 170, y: 47 }),
      ...refusals.flatMap((reason, row) => [
        ...(row === 0 ? [arrow({ x: x + 65, y: 74 }, { x: x + 65, y: 104 })] : []),
        box("bad", { x: x - 8, y: 104 + row * 52 }, 146, 46),
        text(String(statusOf(reason)), { x: x + 65, y: 123 + row * 52 }, "bold", "middle"),
        text(reason, { x: x + 65, y: 140 + row * 52 }, "small", "middle"),
      ]),
    ];
  });
  const x = 10 + STEPS.length * 170;
  return picture("A request passes five checks; the first that fails ends it.", x + 140, 240, [
    ...shapes,
    box("good", { x, y: 20 }, 120, 54),
    text("handler", { x: x + 60, y: 52 }, "bold", "middle"),
    text('"public" goes from the rules to the handler; no token is read.', { x: 10, y: 228 }, "small"),
  ]);
}

const RULES = {
  "GET /files/readme": "public",
  "GET /files/:name.pdf": ["pdf:read"],
  "GET /files/:file": ["files:<file>:read"],
  "GET /files/*path": ["files:read"],
  "* /files/:file": ["files:<file>:write"],
  "* /{*path}": ["other:any"],
} satisfies ScopeMappings;

const REQUESTS = [
  "GET /files/readme",
  "GET /files/a.pdf",
  "GET /files/x",
  "HEAD /files/x",
  "PUT /files/x",
  "GET /files/x/y",
  "POST /x",
];

function drawRule(): string {
  const ruleOf = (server: ResourceServer, request: string): string | undefined => {
    const [method = "", path = ""] = request.split(" ");
    return server.explain({ method, path }).decision.rule?.key;
  };
  const all = createServer(RULES);
  const rows = Object.entries<Requirement>(RULES).map(([key, requirement], row) => {
    const alone = createServer({ [key]: requirement });
    const y = 92 + row * 30;
    const marks = REQUESTS.map((request, column) => {
      const place = { x: 262 + column * 92, y: y - 4 };
      if (ruleOf(all, request) === key) return dot("dot", place);
      return ruleOf(alone, request) === undefined ? "" : dot("ring", place);
    });
    return [line({ x: 10, y: y + 11 }, { x: 860, y: y + 11 }, "faint"), text(key, { x: 10, y }), ...marks];
  });
  const heads = REQUESTS.map((request, column) => {
    const [method = "", path = ""] = request.split(" ");
    const x = 262 + column * 92;
    return text(method, { x, y: 36 }, "bold", "middle") + text(path, { x, y: 54 }, "small", "middle");
  });
  const y = 92 + rows.length * 30 + 12;
  return picture("Of several rules that match a request the narrowest decides.", 870, y + 18, [
    text("rule, the narrowest first", { x: 10, y: 54 }, "small"),
    ...heads,
    line({ x: 10, y: 66 }, { x: 860, y: 66 }, "faint"),
    ...rows.flat(),
    dot("dot", { x: 18, y }),
    text("decides", { x: 32, y: y + 4 }, "small"),
    dot("ring", { x: 108, y }),
    text("matches as well, and is wider", { x: 122, y: y + 4 }, "small"),
  ]);
}

const DEFAULTS = {
  "GET /agents": { filtered: "agents:read" },
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "GET /sessions": ["sessions:read"],
} satisfies ScopeMappings;

const CUSTOMS = { "GET /agents/:id": [], "POST /reports": ["reports:write"] } satisfies ScopeMappings;

function drawMerge(): string {
  const server = createServer(CUSTOMS, DEFAULTS);
  const column = (
    title: string,
    x: number,
    rules: readonly Pick<Rule, "key" | "requirement" | "source">[],
  ) => [
    text(title, { x, y: 24 }, "bold"),
    ...rules.flatMap(({ key, requirement, source }, row) => {
      const y = 38 + row * 56;
      return [
        box(source === "default" ? "box" : source === "custom" ? "good" : "bad", { x, y }, 250, 48),
        text(key, { x: x + 10, y: y + 20 }),
        text(JSON.stringify(requirement), { x: x + 10, y: y + 38 }, "small"),
        text(source, { x: x + 240, y: y + 20 }, "small", "end"),
      ];
    }),
  ];
  const written = (table: Readonly<Record<string, Requirement>>, source: Rule["source"]) =>
    Object.entries(table).map(([key, requirement]) => ({ key, requirement, source }));
  return picture("Custom rules are added; one for the same route replaces the default rule.", 870, 280, [
    ...column("defaultScopeMappings", 10, written(DEFAULTS, "default")),
    text("+", { x: 285, y: 90 }, "bold", "middle"),
    ...column("scopeMappings", 310, written(CUSTOMS, "custom")),
    text("=", { x: 585, y: 90 }, "bold", "middle"),
    ...column("server.routes", 610, server.routes),
  ]);
}

/** One stream in Redis, and the processes that read it. */
function drawClusters(): string {
  const processes = ["process 1", "process 2", "process 3"].flatMap((name, index) => {
    const y = 20 + index * 74;
    return [
      box("box", { x: 420, y }, 190, 54),
      text(name, { x: 515, y: y + 23 }, "bold", "middle"),
      text("its set of entries", { x: 515, y: y + 42 }, "small", "middle"),
      arrow({ x: 280, y: 121 }, { x: 420, y: y + 27 }),
      line({ x: 610, y: y + 27 }, { x: 730, y: y + 27 }),
      text("requests", { x: 736, y: y + 31 }, "small"),
    ];
  });
  return picture("A revocation goes through one stream to every process.", 810, 260, [
    box("box", { x: 10, y: 94 }, 110, 54),
    text("revoke", { x: 65, y: 126 }, "bold", "middle"),
    arrow({ x: 120, y: 121 }, { x: 160, y: 121 }),
    box("box", { x: 160, y: 94 }, 120, 54),
    text("Redis", { x: 220, y: 117 }, "bold", "middle"),
    text("one stream", { x: 220, y: 136 }, "small", "middle"),
    ...processes,
    text(
      "Each process asks Redis for new entries every 200 ms. A request asks only the set.",
      { x: 10, y: 250 },
      "small",
    ),
  ]);
}

export const pictures = {
  "request.svg": drawRequest,
  "rule.svg": drawRule,
  "merge.svg": drawMerge,
  "clusters.svg": drawClusters,
} as const;
