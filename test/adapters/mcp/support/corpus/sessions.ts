/** Sessions that belong to another caller, or to none. */
import { ALLOWED, call, FORBIDDEN, type Hostile, post } from "./hostile.ts";

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const CALLS: readonly (readonly [string, object])[] = [
  ["an allowed call", ALLOWED],
  ["a forbidden call", FORBIDDEN],
  ["a batch", [ALLOWED, { ...ALLOWED, id: 2 }]],
  ["a response", { jsonrpc: "2.0", id: 1, result: {} }],
  ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }],
  ["initialize", INITIALIZE],
  ["ping", { jsonrpc: "2.0", id: 1, method: "ping" }],
];

/** The official SDK has a GET and a DELETE for sessions. */
const METHODS = ["GET", "DELETE", "HEAD"];

/** `victim` belongs to the runner, and `own` to the reader, who steals. */
export function sessionCases(victim: string, own: string): readonly Hostile[] {
  const thief = { sender: "reader" } as const;
  const spellings: Readonly<Record<string, string | readonly string[]>> = {
    "in capitals": victim.toUpperCase(),
    "with a comma": `${victim},`,
    "behind one's own, in one header": `${own}, ${victim}`,
    "in front of one's own, in one header": `${victim}, ${own}`,
    "behind one's own, in two headers": [own, victim],
    "in front of one's own, in two headers": [victim, own],
    twice: [victim, victim],
    "in quotes": `"${victim}"`,
    encoded: victim.replaceAll("-", "%2D"),
    "without its end": victim.slice(0, -1),
  };
  const unknown = [
    ...["", "0", "undefined", "null", "__proto__", "constructor", "toString", "*", crypto.randomUUID()],
  ];
  const stolen = { headers: { "mcp-session-id": victim } };
  const refuse = (name: string, status: number, body: object, more: Parameters<typeof post>[3]) =>
    post(name, status, body, { ...stolen, ...more });
  return [
    ...CALLS.map(([name, body]) => refuse(`${name} in a stolen session`, 404, body, thief)),
    ...METHODS.flatMap((method) => [
      { name: `${method} of a stolen session`, status: [404], method, ...stolen, ...thief },
      { name: `${method} without a token`, status: [401], method, ...stolen, sender: "anonymous" as const },
    ]),
    refuse("an anonymous call in a stolen session", 401, ALLOWED, { sender: "anonymous" }),
    refuse("an expired call in one's own session", 401, ALLOWED, { sender: "expired" }),
    ...Object.entries(spellings).flatMap(([name, id]) =>
      ["POST", "DELETE"].map((method) =>
        post(`a stolen session ${name}`, 404, ALLOWED, {
          ...thief,
          method,
          headers: { "mcp-session-id": id },
        }),
      ),
    ),
    ...unknown.flatMap((id) =>
      [ALLOWED, INITIALIZE].map((body) =>
        post("an unknown session", 404, body, { headers: { "mcp-session-id": id } }),
      ),
    ),
    refuse("a forbidden call in one's own session", 403, FORBIDDEN, {}),
    refuse("another agent in one's own session", 403, call("run_agent", { agent_id: "we" }), {}),
  ];
}
