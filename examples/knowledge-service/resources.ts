import { randomUUID } from "node:crypto";
import * as z from "zod";
import { isProblem, problem, type Problem } from "./problem.ts";

/** An agent or a team. */
export interface Resource {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/** One run of an agent (`agent_id`) or a team (`team_id`). `user_id` is null if the token has no user. */
export interface Run {
  readonly run_id: string;
  readonly agent_id?: string;
  readonly team_id?: string;
  readonly input: string;
  readonly output: string;
  readonly user_id: string | null;
}

export interface Resources {
  readonly kind: ResourceKind;
  /** The name of the id in route patterns and in runs. */
  readonly idName: "agent_id" | "team_id";
  readonly size: number;
  /** The resources whose ids the caller may see. */
  list(visible: "all" | ReadonlySet<string>): readonly Resource[];
  read(id: string): Resource | Problem;
  run(id: string, body: unknown, userId: string | undefined): Run | Problem;
}

export type ResourceKind = keyof typeof KINDS;

const KINDS = {
  agents: {
    idName: "agent_id",
    word: "agent",
    members: [
      { id: "web", name: "Web", description: "Searches the web and reads pages" },
      { id: "data", name: "Data", description: "Queries tables and explains the numbers" },
      { id: "support", name: "Support", description: "Answers customers from the handbook" },
    ],
  },
  teams: {
    idName: "team_id",
    word: "team",
    members: [
      { id: "research", name: "Research", description: "Collects sources and weighs them" },
      { id: "operations", name: "Operations", description: "Plans work and follows it up" },
    ],
  },
} as const;

const runBodySchema = z.object({ input: z.string() });

/** Creates the agents or the teams of a service. */
export function createResources(kind: ResourceKind): Resources {
  const { idName, word } = KINDS[kind];
  const members: readonly Resource[] = KINDS[kind].members;

  const read = (id: string): Resource | Problem =>
    members.find((member) => member.id === id) ?? problem(404, `No ${word} has this id.`);

  return {
    kind,
    idName,
    size: members.length,
    list: (visible) => members.filter(({ id }) => visible === "all" || visible.has(id)),
    read,
    run(id, body, userId) {
      const resource = read(id);
      if (isProblem(resource)) return resource;
      const parsed = runBodySchema.safeParse(body);
      if (!parsed.success) return problem(400, "The body must be a JSON object with `input`, a string.");
      const { input } = parsed.data;
      const output = `The ${word} ${id} received: ${input}`;
      return { run_id: randomUUID(), [idName]: id, input, output, user_id: userId ?? null };
    },
  };
}
