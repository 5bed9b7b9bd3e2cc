/** Documents, and servers without keys that matter, for the tests of OpenAPI. */
import { Validator } from "@seriousme/openapi-schema-validator";
import type { ResourceServer, ScopeMappings } from "scopegate";
import type { OpenApiDocument } from "scopegate/openapi";
import { segmentsIn } from "../../../support/policy.ts";
import { createServer, thrownBy } from "../../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../../support/server.ts";

export const serverOf = (
  scopeMappings: ScopeMappings,
  options: Partial<ResourceServerOptions> = {},
): ResourceServer => createServer({ scopeMappings, ...options });

/** The place and code of every mistake that a call reports. */
export const issuesOf = (run: () => unknown): readonly (readonly [string, string])[] =>
  thrownBy(run).issues.map(({ path, code }) => [path.join("/"), code] as const);

type Members = Record<string, unknown>;

export const RESPONSES = { 200: { description: "Done" } };

/** A document with one operation for each `METHOD /path`; a value adds members to the operation. */
export function documentOf(
  operations: Readonly<Record<string, object>> | readonly string[],
  { openapi = "3.1.0", ...others }: Members = {},
): OpenApiDocument & { readonly paths: Record<string, Record<string, Members>> } {
  const entries: readonly (readonly [string, object])[] = Array.isArray(operations)
    ? operations.map((key: string) => [key, {}] as const)
    : Object.entries(operations);
  const paths: Record<string, Members> = {};
  for (const [key, members] of entries) {
    const [method = "", path = ""] = key.split(" ");
    const names = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name);
    const parameters = names.map((name) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    }));
    const operation = { ...(parameters.length > 0 && { parameters }), responses: RESPONSES, ...members };
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return { openapi, info: { title: "Agents", version: "1.0.0" }, paths, ...others } as never;
}

/** The document of a table: an operation for every key without a wildcard, an optional group and `*`. */
export const skeletonOf = (table: ScopeMappings, openapi = "3.1.0"): ReturnType<typeof documentOf> =>
  documentOf(Object.keys(table).map(toOperation), { openapi });

function toOperation(key: string): string {
  const [method = "", pattern = ""] = key.split(" ");
  const segments = segmentsIn(pattern).map((segment) => {
    if (segment.kind === "static") return segment.text;
    if (segment.kind !== "mixed") return `{${segment.name}}`;
    return segment.parts.map((part) => (typeof part === "string" ? part : `{${part.name}}`)).join("");
  });
  return `${method} /${segments.join("/")}`;
}

/** What the validator of the OpenAPI schemas finds. */
export async function schemaErrorsOf(document: object): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as Members);
  return valid ? [] : errors;
}

/** One operation of a document. */
export const operationOf = (document: object, key: string): Members => {
  const [method = "", path = ""] = key.split(" ");
  const { paths } = document as { readonly paths: Record<string, Record<string, Members>> };
  return paths[path]?.[method.toLowerCase()] ?? {};
};
