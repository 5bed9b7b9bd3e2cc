import type { ScopeMappings } from "scopegate";

/** The route that every server has, and its response. */
export const PATTERN = "/agents/:agent_id";
export const TARGET = "/agents/web";

/** The table of scopegate. */
export const TABLE: ScopeMappings = { [`GET ${PATTERN}`]: ["agents:<agent_id>:read"] };

export const WITHOUT_PARAMETER = "scopegate, rule without a parameter";

/** The same without a parameter: such a rule must cost nothing that parameters cost. */
export const PLAIN_TABLE: ScopeMappings = { [`GET ${PATTERN}`]: ["agents:read"] };

export const answer = (agent: string | undefined): object => ({ agent, status: "idle" });

/** The body of the response to `TARGET`. */
export const ANSWER = JSON.stringify(answer("web"));

/** A request to a server, and how its response ends. */
export interface Question {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly end: string;
}

export const GET_AGENT: Question = { method: "GET", target: TARGET, headers: {}, end: ANSWER };

const CALL = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "run_agent", arguments: { agent_id: "web", input: "What is new?" } },
};

/** A call of a tool. The response of Express ends with the result. */
export const CALL_TOOL: Question = {
  method: "POST",
  target: "/mcp",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: JSON.stringify(CALL),
  end: '"text":"idle"}]}}',
};

/** The official SDK responds with a stream, whose last chunk is empty. */
export const CALL_TOOL_OF_SDK: Question = { ...CALL_TOOL, end: "0\r\n\r\n" };
