import type { ScopeMappings } from "scopegate";

/** The route that every server has, and its response. */
export const PATTERN = "/agents/:agent_id";
export const TARGET = "/agents/web";

/** The table of scopegate. */
export const TABLE: ScopeMappings = { [`GET ${PATTERN}`]: ["agents:<agent_id>:read"] };

export const answer = (agent: string | undefined): object => ({ agent, status: "idle" });

/** The body of the response to `TARGET`. */
export const ANSWER = JSON.stringify(answer("web"));
