/** Batches: every entry is decided, and all of them run, or none. */
import { ALLOWED, call, FORBIDDEN, HARMLESS, type Hostile, post, WITHOUT_RULE } from "./hostile.ts";

const MINE = call("run_agent", { agent_id: "web" }, { id: 2 });
const response = { jsonrpc: "2.0", id: 7, result: {} };
const many = (count: number, last: object = ALLOWED) =>
  Array.from({ length: count }, (_, index) =>
    index === count - 1 ? { ...last, id: index } : { ...ALLOWED, id: index },
  );

/** A forbidden call in every place of a batch. */
const places = [1, 2, 3, 10, 100].flatMap((length) =>
  [0, Math.floor(length / 2), length - 1]
    .filter((place, index, all) => all.indexOf(place) === index)
    .flatMap((place) =>
      Object.entries({ run_agent: FORBIDDEN, remove_agent: WITHOUT_RULE }).map(([name, forbidden]) =>
        post(
          `${name} in place ${place} of ${length}`,
          403,
          many(length).map((one, index) => (index === place ? { ...forbidden, id: index } : one)),
        ),
      ),
    ),
);

export const BATCH_CASES: readonly Hostile[] = [
  ...places,
  post("an empty batch", 400, []),
  post("a batch in a batch", 400, [[FORBIDDEN]]),
  post("a batch in a batch behind a call", 400, [ALLOWED, [FORBIDDEN]]),
  post("a batch of 101", 400, many(101)),
  post("a batch of 101 that ends with a forbidden call", 400, many(101, FORBIDDEN)),
  post("a batch of 10,000", 400, many(10_000, FORBIDDEN)),
  post("null behind a call", 400, [ALLOWED, null]),
  post("a string behind a call", 400, [ALLOWED, "tools/call"]),
  post("a message without jsonrpc behind a call", 400, [ALLOWED, { id: 2, method: "tools/call" }]),
  post("a name that is no string behind a call", 400, [ALLOWED, call(["search"])]),
  post("two calls with one id", 403, [ALLOWED, FORBIDDEN]),
  post("another agent behind one's own", 403, [MINE, { ...FORBIDDEN, id: 3 }]),
  post("another agent in front of one's own", 403, [{ ...FORBIDDEN, id: 3 }, MINE]),
  post("a forbidden call behind initialize", 403, [
    { jsonrpc: "2.0", id: 9, method: "initialize" },
    FORBIDDEN,
  ]),
  post("a forbidden notification behind a call", 403, [ALLOWED, { ...FORBIDDEN, id: undefined }]),
  post("responses only", HARMLESS, [response, { ...response, id: 8 }]),
  post("an array with the index of a batch as a name", 400, { 0: FORBIDDEN, length: 1 }),
  post("a call of two agents", 400, [call("run_agent", { agent_id: ["web", "api"] })]),
  post("a call without scopes in a batch", 403, [ALLOWED, MINE], { sender: "reader" }),
  post("calls of somebody without scopes", 403, [ALLOWED, MINE], { sender: "nobody" }),
];
