/**
 * Writes the JSON Schema of configuration files from the shapes of the options, so that editors complete and
 * check what `parseConfiguration` reads. `npm test` compares the file with the shapes.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import * as z from "zod/mini";
import { toSnakeCase } from "../src/complete/configuration.ts";
import { isCapability } from "../src/core/capability.ts";
import { withCapabilities } from "../src/complete/create.ts";
import { issuerList, JSON_OPTION_NAMES, optionsSchema } from "../src/core/options/shape.ts";
import { CONDITION_NAMES } from "../src/core/policy/table-entry.ts";

export const SCHEMA_FILE = fileURLToPath(new URL("../configuration.schema.json", import.meta.url));

type Json = z.core.JSONSchema.BaseSchema;

const strings: Json = { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 };
const closed = (properties: Record<string, Json>, ...required: readonly string[]): Json => ({
  type: "object",
  properties,
  required: [...required],
  additionalProperties: false,
});
const tenant: Json = closed({ tenant: { const: true } }, "tenant");
const claim: Json = closed(
  { claim: { anyOf: [{ type: "string", minLength: 1 }, strings] }, issuer: { type: "string", minLength: 1 } },
  "claim",
);

/** The conditions, which are read without shapes. One that is missing here accepts any value. */
const CONDITIONS: Readonly<Record<string, Json>> = {
  where: {
    type: "object",
    minProperties: 1,
    additionalProperties: {
      anyOf: [claim, tenant, { type: "array", items: { anyOf: [claim, tenant] }, minItems: 1 }],
    },
  },
  also: strings,
  actors: {
    anyOf: [{ enum: ["none", "any"] }, closed({ any_of: strings, direct: { type: "boolean" } }, "any_of")],
  },
  clients: strings,
  senderConstrained: { const: true },
  acr: closed({ any_of: strings }, "any_of"),
  maxAuthAgeSeconds: { type: "integer", minimum: 1 },
  unless: { anyOf: [strings, closed({ scopes: strings, methods: strings }, "scopes")] },
  except: strings,
};

/** What JSON can't represent, such as a function. */
const isNothing = (schema: unknown): boolean => JSON.stringify(schema) === '{"not":{}}';

/** Plain data for each capability of a file. Only the shape of its value is used. */
const written = withCapabilities({
  keys: { discovery: true },
  resource: { id: "https://example.com/" },
  senderConstraint: { mtls: { from: "socket" } },
  shadow: { scopeMappings: {} },
  mcp: {},
});

type Shapes = Readonly<Record<string, z.core.$ZodType>>;

/** The type inside of `optional` and `pipe`, which add nothing for JSON. */
function innerOf(type: z.core.$ZodType): z.core.$ZodType {
  const def = type._zod.def as { innerType?: z.core.$ZodType; out?: z.core.$ZodType };
  const inner = def.innerType ?? def.out;
  return inner ? innerOf(inner) : type;
}

const options: Shapes = optionsSchema.shape;
const typeOf = (shapes: Shapes, name: string) => innerOf(shapes[name] ?? z.unknown());
const keySource = (isCapability(written.keys) && written.keys.shape) as z.core.$ZodObject;

const key: Json = { type: "object", properties: { kty: { type: "string" } }, required: ["kty"] };
const table: Json = {
  propertyNames: { pattern: "^((\\*|[A-Z-]+) /|MCP )" },
  additionalProperties: { $ref: "#/definitions/rule" },
};

const jwks: Json = {
  type: "object",
  properties: { keys: { type: "array", items: { type: "object" } } },
  required: ["keys"],
};

/** The types that check values by a function, and their JSON Schemas. */
const BY_FUNCTION = new Map<z.core.$ZodType, Json>([
  [typeOf(options, "verificationKeys"), { items: { anyOf: [{ type: "string", minLength: 1 }, key] } }],
  [typeOf(keySource._zod.def.shape, "jwks"), jwks],
  [typeOf(options, "scopeMappings"), table],
]);
for (const [name, value] of Object.entries(written))
  if (isCapability(value) && value.shape && options[name])
    BY_FUNCTION.set(typeOf(options, name), convert(value.shape as z.core.$ZodType));
// After the others, because an issuer has `keys`.
BY_FUNCTION.set(typeOf(options, "issuers"), convert(issuerList));

function convert(type: z.core.$ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(type, {
    target: "draft-7",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const byFunction = BY_FUNCTION.get(zodSchema);
      if (byFunction) Object.assign(jsonSchema, byFunction);
      else if (zodSchema._zod.def.type === "custom") jsonSchema.not = {};
    },
  });
  return schema;
}

/** Replaces the names of options by their JSON names, and drops what JSON can't represent. */
function toJsonNames(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.filter((part) => !isNothing(part)).map(toJsonNames);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.entries(schema as Json).flatMap(([name, part]): [string, unknown][] => {
    // A limit of `Infinity` is none.
    if (
      part === null ||
      part === Infinity ||
      (name === "propertyNames" && JSON.stringify(part) === '{"type":"string"}')
    )
      return [];
    if (name === "required") return [[name, (part as readonly string[]).map(toSnakeCase)]];
    if (name !== "properties") return [[name, toJsonNames(part)]];
    const properties = Object.entries(part as Json).filter(([, property]) => !isNothing(property));
    const renamed = properties.map(([option, property]) => [toSnakeCase(option), toJsonNames(property)]);
    return [[name, Object.fromEntries(renamed)]];
  });
  return Object.fromEntries(parts);
}

/** The values of the table. */
function ruleSchema(): Json {
  const scopes: Json = { type: "array", items: { type: "string" } };
  const conditions = CONDITION_NAMES.map((name) => [name, CONDITIONS[name] ?? {}] as const);
  const scoped = closed({ scopes, anyOf: { ...scopes, minItems: 1 }, ...Object.fromEntries(conditions) });
  scoped.oneOf = [{ required: ["scopes"] }, { required: ["anyOf"] }];
  return { anyOf: [{ type: "string", enum: ["public", "optional"] }, scopes, scoped] };
}

/** Returns the JSON Schema of a configuration file. */
export function configurationSchema(): unknown {
  const { properties = {}, ...all } = convert(optionsSchema);
  const ofFiles = Object.entries(properties).filter(([name]) => JSON_OPTION_NAMES.includes(name));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The configuration file of scopegate",
    ...(toJsonNames({
      ...all,
      properties: { $schema: { type: "string" }, ...Object.fromEntries(ofFiles) },
      definitions: { rule: ruleSchema() },
    }) as object),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(
    SCHEMA_FILE,
    await format(JSON.stringify(configurationSchema()), { parser: "json", printWidth: 110 }),
  );
