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
  "GET /files{/*path}": ["files:read"],
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

const CUSTOMS = {
  "GET /agents/:id": ["agents:admin"],
  "POST /reports": ["reports:write"],
} satisfies ScopeMappings;

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
  return picture(
    "Custom rules are added to the base table; one for the same route replaces the default rule.",
    870,
    280,
    [
      ...column("defaultScopeMappings", 10, written(DEFAULTS, "default")),
      text("+", { x: 285, y: 90 }, "bold", "middle"),
      ...column("scopeMappings", 310, written(CUSTOMS, "custom")),
      text("=", { x: 585, y: 90 }, "bold", "middle"),
      ...column("server.routes", 610, server.routes),
    ],
  );
}

/** Express runs the first route that matches, so the path and the route have different rules. */
function drawTwoRules(): string {
  const server = createServer({
    "GET /agents/me": ["self:read"],
    "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  });
  const requiredOf = (matchedPattern: string): readonly string[] =>
    server.explain({ method: "GET", path: "/agents/me", matchedPattern, scopes: [] }).decision.required;
  const [route, path] = ["/agents/:agent_id", "/agents/me"];
  const both = requiredOf(route);
  const row = (y: number, what: string, pattern: string, scopes: readonly string[]) => [
    arrow({ x: 150, y: 110 }, { x: 190, y }),
    box("box", { x: 192, y: y - 32 }, 330, 64),
    text(what, { x: 206, y: y - 10 }, "small"),
    text(`"GET ${pattern}"`, { x: 206, y: y + 14 }, "bold"),
    arrow({ x: 522, y }, { x: 566, y }),
    text(`requires ${scopes.join(" ")}`, { x: 574, y: y + 4 }),
  ];
  const ofPath = requiredOf(path);
  return picture(
    "The caller must satisfy the rule of the path and the rule of the route that runs.",
    840,
    240,
    [
      text("GET /agents/me", { x: 20, y: 114 }, "bold"),
      ...row(60, "the narrowest rule of the path", path, ofPath),
      ...row(
        160,
        "the rule of the route that Express runs",
        route,
        both.filter((scope) => !ofPath.includes(scope)),
      ),
      text(`Together: ${both.join(" and ")}`, { x: 192, y: 226 }, "bold"),
    ],
  );
}

const CLAIMS = [
  ["sub", "userId"],
  ["scopes", "scopes"],
  ["session_id", "sessionId"],
  ["jti", "tokenId"],
  ["aud", "audience"],
  ["iss", "issuer"],
  ["exp", "expiresAt"],
] as const;

/** Where a token comes from, and what becomes of its claims. */
function drawToken(): string {
  return picture(
    "The issuer signs the token; the server verifies it and makes a principal of it.",
    860,
    250,
    [
      box("box", { x: 10, y: 60 }, 150, 60),
      text("issuer", { x: 85, y: 86 }, "bold", "middle"),
      text("private key", { x: 85, y: 106 }, "small", "middle"),
      arrow({ x: 160, y: 90 }, { x: 236, y: 90 }),
      text("token", { x: 198, y: 80 }, "small", "middle"),
      box("box", { x: 238, y: 60 }, 130, 60),
      text("client", { x: 303, y: 86 }, "bold", "middle"),
      text("sends the token", { x: 303, y: 106 }, "small", "middle"),
      arrow({ x: 368, y: 90 }, { x: 426, y: 90 }),
      box("good", { x: 428, y: 60 }, 170, 60),
      text("resource server", { x: 513, y: 86 }, "bold", "middle"),
      text("public keys", { x: 513, y: 106 }, "small", "middle"),
      line({ x: 85, y: 120 }, { x: 85, y: 170 }),
      line({ x: 85, y: 170 }, { x: 513, y: 170 }),
      line({ x: 513, y: 170 }, { x: 513, y: 124 }),
      text("public keys, given in the options or fetched", { x: 300, y: 188 }, "small", "middle"),
      arrow({ x: 598, y: 90 }, { x: 638, y: 90 }),
      box("box", { x: 640, y: 14 }, 214, 200),
      text("principal", { x: 662, y: 38 }, "bold"),
      ...CLAIMS.map(([claim, name], index) =>
        [
          text(name, { x: 662, y: 66 + index * 22 }),
          text(`from ${claim}`, { x: 840, y: 66 + index * 22 }, "small", "end"),
        ].join(""),
      ),
    ],
  );
}

/** One decision, and who uses it. */
function drawDecision(): string {
  const { decision } = createServer({ "GET /agents/:agent_id": ["agents:<agent_id>:read"] }).explain({
    method: "GET",
    path: "/agents/web",
    scopes: ["agents:api:read"],
  });
  if (decision.allowed) throw new Error("The request of the picture must be refused.");
  const properties = [
    ["allowed", String(decision.allowed)],
    ["reason", decision.reason],
    ["rule", decision.rule?.key ?? ""],
    ["required", decision.required.join(" ")],
    ["granted", decision.granted.join(" ")],
    ["missing", decision.missing.join(" ")],
  ] as const;
  const { status } = createServer({}).refuse(decision);
  const readers = [
    ["the client", `${status}: what it can fix`],
    ["onDecision", "logs and metrics"],
    ["explain, audit", "the same answer, without a request"],
    ["your tests", "check(server, request, caller)"],
  ] as const;
  return picture(
    "One decision is the source of the response, the logs, the explanation and the tests.",
    860,
    250,
    [
      text("GET /agents/web", { x: 10, y: 126 }, "bold"),
      arrow({ x: 140, y: 122 }, { x: 186, y: 122 }),
      box("bad", { x: 188, y: 20 }, 330, 200),
      text("decision", { x: 202, y: 46 }, "bold"),
      ...properties.map(([name, value], index) =>
        [
          text(name, { x: 202, y: 76 + index * 25 }, "small"),
          text(value, { x: 282, y: 76 + index * 25 }),
        ].join(""),
      ),
      ...readers.flatMap(([name, use], index) => {
        const y = 22 + index * 54;
        return [
          arrow({ x: 518, y: y + 20 }, { x: 576, y: y + 20 }),
          box("box", { x: 578, y }, 272, 42),
          text(name, { x: 592, y: y + 18 }, "bold"),
          text(use, { x: 592, y: y + 34 }, "small"),
        ];
      }),
    ],
  );
}

export const pictures = {
  "request.svg": drawRequest,
  "rule.svg": drawRule,
  "merge.svg": drawMerge,
  "two-rules.svg": drawTwoRules,
  "token.svg": drawToken,
  "decision.svg": drawDecision,
} as const;
