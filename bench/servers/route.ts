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
