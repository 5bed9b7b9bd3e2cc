import { readFileSync } from "node:fs";
import * as z from "zod";
import { catalogue } from "./catalogue.ts";
import { isProblem, problem, type Problem } from "./problem.ts";

const PARAMETERS = ["db_id", "knowledge_id"] as const;

/** The query parameters that select a knowledge base. */
export type KnowledgeQuery = Readonly<Record<(typeof PARAMETERS)[number], string | undefined>>;

/** A knowledge base, identified by `db_id` and `knowledge_id` together. */
export type KnowledgeBase = z.output<typeof configurationSchema>["default"];

/** The response of `GET /knowledge/config`. */
export type KnowledgeDescription = typeof catalogue &
  Pick<KnowledgeBase, "vector_dbs" | "filters" | "remote_content_sources">;

export interface KnowledgeConfiguration {
  readonly default: KnowledgeBase;
  readonly knowledgeBases: readonly KnowledgeBase[];
}

const id = z.string().min(1);

const listOf = <Item extends z.ZodType<{ id: string }>>(item: Item) =>
  z
    .array(item)
    .refine(
      (items) => new Set(items.map((one) => one.id)).size === items.length,
      "No two entries may share an id.",
    );

const vectorDbSchema = z.strictObject({
  id,
  name: z.string(),
  description: z.string(),
  search_types: z.array(z.enum(["vector", "keyword", "hybrid"])),
});

const remoteContentSourceSchema = z.strictObject({
  id,
  name: z.string(),
  type: z.enum(["object_storage", "cloud_bucket", "document_site", "code_hosting"]),
  metadata: z.record(z.string(), z.json()),
});

const knowledgeBaseSchema = z.strictObject({
  id,
  default: z.boolean().default(false),
  vector_dbs: listOf(vectorDbSchema),
  filters: z.array(z.string()),
  remote_content_sources: z
    .record(id, remoteContentSourceSchema)
    .refine(
      (sources) => Object.entries(sources).every(([key, source]) => key === source.id),
      "The key of every source must be its id.",
    ),
});

const configurationSchema = z
  .strictObject({
    databases: listOf(z.strictObject({ id, knowledge_bases: listOf(knowledgeBaseSchema) })),
  })
  .transform(({ databases }, context) => {
    const knowledgeBases = databases.flatMap((database) =>
      database.knowledge_bases.map(({ id: knowledge_id, ...base }) => ({
        db_id: database.id,
        knowledge_id,
        ...base,
      })),
    );
    const [marked, ...others] = knowledgeBases.filter((base) => base.default);
    if (marked && others.length === 0) return { default: marked, knowledgeBases };
    context.addIssue("Mark exactly one knowledge base as the default.");
    return z.NEVER;
  });

/** Validates a knowledge configuration. Throws an Error that lists every issue. */
export function parseKnowledge(json: unknown): KnowledgeConfiguration {
  const parsed = configurationSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`The knowledge configuration is invalid.\n${z.prettifyError(parsed.error)}`);
}

/** Reads and validates a configuration file. Default: `knowledge.json`. */
export function loadKnowledge(
  file: string | URL = new URL("./knowledge.json", import.meta.url),
): KnowledgeConfiguration {
  return parseKnowledge(JSON.parse(readFileSync(file, "utf8")));
}

/** Reads the two query parameters. Both are optional, but must not be empty or repeated. */
export function readKnowledgeQuery(query: URLSearchParams): KnowledgeQuery | Problem {
  for (const name of PARAMETERS) {
    const values = query.getAll(name);
    if (values.length > 1) return problem(400, `The query parameter ${name} occurs more than once.`);
    if (values[0] === "") return problem(400, `The query parameter ${name} is empty.`);
  }
  return { db_id: query.get("db_id") ?? undefined, knowledge_id: query.get("knowledge_id") ?? undefined };
}

/** Finds the only knowledge base that matches a query. Without parameters, it is the default. */
export function selectKnowledgeBase(
  configuration: KnowledgeConfiguration,
  query: KnowledgeQuery,
): KnowledgeBase | Problem {
  const given = PARAMETERS.filter((name) => query[name] !== undefined);
  if (given.length === 0) return configuration.default;
  const matches = configuration.knowledgeBases.filter((base) =>
    given.every((name) => base[name] === query[name]),
  );
  const [match, ...others] = matches;
  if (!match) return problem(404, `No knowledge base has this ${given.join(" and ")}.`);
  return others.length === 0 ? match : ambiguous(matches);
}

/** Returns the catalogue and the configuration of the selected knowledge base. */
export function describeKnowledge(
  configuration: KnowledgeConfiguration,
  parameters: URLSearchParams,
): KnowledgeDescription | Problem {
  const query = readKnowledgeQuery(parameters);
  if (isProblem(query)) return query;
  const selected = selectKnowledgeBase(configuration, query);
  if (isProblem(selected)) return selected;
  const { vector_dbs, filters, remote_content_sources } = selected;
  return { ...catalogue, vector_dbs, filters, remote_content_sources };
}

function ambiguous(matches: readonly KnowledgeBase[]): Problem {
  const candidates = matches.map(({ db_id, knowledge_id }) => ({ db_id, knowledge_id }));
  const words = candidates.map(({ db_id, knowledge_id }) => `${knowledge_id} in database ${db_id}`);
  return problem(
    400,
    `The query matches ${matches.length} knowledge bases: ${words.join(", ")}. Send both db_id and knowledge_id.`,
    { candidates },
  );
}
