/** Requests for operations that must not exist for their sender, and names that no server has. */
import { message } from "./hostile.ts";

/** Names of tools, as odd as a client can send them, except inherited ones: the SDK calls them disabled. */
export const ODD_NAMES: readonly string[] = [
  "missing",
  "secret ",
  "SECRET",
  'a"b\\c',
  "line\nbreak",
  "\u2028\u2029é\u{1F600}",
  "$&$1$`",
  "<script>",
  "x".repeat(2_000),
];

const completion = (ref: object) =>
  message("completion/complete", { ref, argument: { name: "id", value: "a" } });

const tool = (more: object) =>
  ["secret", "nobody"].map((name) => message("tools/call", { name, ...more })) as [object, object];

/** Pairs of an operation that is hidden, and of one that doesn't exist. */
export const PAIRS: readonly (readonly [hidden: object, missing: object])[] = [
  tool({}),
  tool({ arguments: { agent_id: 1.5, n: [null] } }),
  tool({ _meta: { progressToken: 1, "x.y/z": "secret" } }),
  // Its argument can't fill the scope of the hidden tool.
  [
    message("tools/call", { name: "scoped", arguments: { agent_id: [] } }),
    message("tools/call", { name: "nobody", arguments: { agent_id: [] } }),
  ],
  [message("prompts/get", { name: "secret" }), message("prompts/get", { name: "nobody" })],
  [message("resources/read", { uri: "note://secret" }), message("resources/read", { uri: "note://nobody" })],
  [message("resources/read", { uri: "docs://secret" }), message("resources/read", { uri: "none://secret" })],
  [completion({ type: "ref/prompt", name: "secret" }), completion({ type: "ref/prompt", name: "nobody" })],
  [
    completion({ type: "ref/resource", uri: "docs://{id}" }),
    completion({ type: "ref/resource", uri: "none://{id}" }),
  ],
];
