/** The route that every server has, and its response. */
export const PATTERN = "/agents/:agent_id";
export const TARGET = "/agents/web";

export const answer = (agent: string | undefined): object => ({ agent, status: "idle" });

/** The body of the response to `TARGET`. */
export const ANSWER = JSON.stringify(answer("web"));
