/** The pictures show what the library returns, so that they cannot differ from what it does. */
import { createResourceServer, type RefusalReason, type ResourceServer, type ScopeMappings } from "scopegate";
import { explain } from "scopegate/explain";
import { arrow, box, picture, text } from "./svg.ts";

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

/** Narrow enough for a phone: five checks below one another, each with its refusals. */
function drawRequest(): string {
  const server = createServer({});
  const statusOf = (reason: RefusalReason): number => {
    const nothing = { rules: [], required: [], granted: [], missing: [], satisfied: [] };
    return server.refuse({ allowed: false, reason, ...nothing }).status;
  };
  const shapes = STEPS.flatMap(([name, question, refusals], index) => {
    const y = 10 + index * 84;
    return [
      box("box", { x: 4, y }, 110, 54),
      text(name, { x: 59, y: y + 23 }, "bold", "middle"),
      text(question, { x: 59, y: y + 42 }, "small", "middle"),
      arrow({ x: 59, y: y + 54 }, { x: 59, y: y + 84 }),
      arrow({ x: 114, y: y + 27 }, { x: 132, y: y + 27 }),
      box("bad", { x: 134, y }, 206, 54),
      ...refusals.map((reason, row) => {
        const place = { x: 142, y: y + (refusals.length === 1 ? 32 : 22 + row * 20) };
        return text(`${statusOf(reason)} ${reason}`, place, "small");
      }),
    ];
  });
  const y = 10 + STEPS.length * 84;
  return picture("A request passes five checks; the first that fails ends it.", 344, y + 48, [
    ...shapes,
    box("good", { x: 4, y }, 110, 40),
    text("handler", { x: 59, y: y + 25 }, "bold", "middle"),
  ]);
}

function drawTwoRules(): string {
  const server = createServer({
    "GET /stores/new": ["stores:create"],
    "GET /stores/:store_id": ["stores:<store_id>:read"],
  });
  const requiredOf = (matchedPattern: string): readonly string[] =>
    explain(server, { method: "GET", path: "/stores/new", matchedPattern, scopes: [] }).decision.required;
  const [route, path] = ["/stores/:store_id", "/stores/new"];
  const both = requiredOf(route);
  const row = (y: number, what: string, pattern: string, scopes: readonly string[]) => [
    box("box", { x: 4, y }, 336, 78),
    text(what, { x: 18, y: y + 22 }, "small"),
    text(`"GET ${pattern}"`, { x: 18, y: y + 43 }, "bold"),
    text(`requires ${scopes.join(" ")}`, { x: 18, y: y + 64 }),
  ];
  const ofPath = requiredOf(path);
  return picture(
    "The caller must satisfy the rule for the path and the rule for the matched route.",
    344,
    276,
    [
      text("GET /stores/new", { x: 172, y: 22 }, "bold", "middle"),
      arrow({ x: 172, y: 32 }, { x: 172, y: 50 }),
      ...row(52, "the narrowest rule for the path", path, ofPath),
      text("and", { x: 172, y: 149 }, "small", "middle"),
      ...row(
        158,
        "the rule for the matched route",
        route,
        both.filter((scope) => !ofPath.includes(scope)),
      ),
      text(`Together: ${both.join(" and ")}`, { x: 4, y: 262 }, "bold"),
    ],
  );
}

export const pictures = {
  "request.svg": drawRequest,
  "two-rules.svg": drawTwoRules,
} as const;
