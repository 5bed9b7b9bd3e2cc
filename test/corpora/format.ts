/** The format of the corpora, which corpora/README.md describes. */
import { z } from "zod";

const strings = z.array(z.string());
const configuration = z.record(z.string(), z.unknown());

const pathCase = z.discriminatedUnion("result", [
  z.strictObject({ target: z.string(), result: z.literal("accepted"), segments: strings }),
  z.strictObject({ target: z.string(), result: z.literal("ambiguous"), why: z.string() }),
]);

const field = z.union([z.string(), strings]);
const fields = z.strictObject({
  authorization: field.optional(),
  cookie: z.string().optional(),
  dpop: field.optional(),
  "x-assertion": field.optional(),
});

const headerCase = z.discriminatedUnion("result", [
  z.strictObject({
    configuration: z.string(),
    headers: fields,
    result: z.literal("credential"),
    token: z.string(),
    scheme: z.enum(["Bearer", "DPoP"]),
  }),
  z.strictObject({
    configuration: z.string(),
    headers: fields,
    result: z.enum(["missing", "malformed", "proof_missing", "proof_malformed"]),
  }),
]);

const principal = z.strictObject({
  user_id: z.string().optional(),
  scopes: strings,
  audience: strings,
});

const rejection = z.enum([
  "malformed",
  "too_large",
  "algorithm",
  "key",
  "signature",
  "expired",
  "not_yet_valid",
  "issuer",
  "audience",
  "type",
  "claims",
]);

const tokenCase = z.discriminatedUnion("result", [
  z.strictObject({
    name: z.string(),
    configuration,
    keys: strings.optional(),
    token: z.string(),
    result: z.literal("accepted"),
    principal,
  }),
  z.strictObject({
    name: z.string(),
    configuration,
    keys: strings.optional(),
    token: z.string(),
    result: z.literal("rejected"),
    rejection,
  }),
]);

const decisionCase = z.strictObject({
  method: z.string(),
  target: z.string(),
  matched_pattern: z.string().optional(),
  upgrade: z.literal(true).optional(),
  claims: z.record(z.string(), z.unknown()).nullable(),
  allowed: z.boolean(),
  reason: z.string().optional(),
  status: z.number().optional(),
  rule: z.string().nullable().optional(),
  required: strings.optional(),
  missing: strings.optional(),
});

const corpus = <Case extends z.ZodType>(cases: Case) =>
  z.strictObject({ format: z.literal(1), about: z.string(), cases: z.array(cases).min(100) });

export const FORMATS = {
  paths: corpus(pathCase),
  headers: corpus(headerCase).extend({ configurations: z.record(z.string(), configuration) }),
  tokens: corpus(tokenCase).extend({ now: z.number(), configuration, test_keys: z.record(z.string(), configuration) }),
  decisions: z.strictObject({
    format: z.literal(1),
    about: z.string(),
    tables: z.array(z.strictObject({ name: z.string(), configuration, cases: z.array(decisionCase).min(1) })),
  }),
};

export type PathCase = z.infer<typeof pathCase>;
export type HeaderCase = z.infer<typeof headerCase>;
export type CorpusToken = z.infer<typeof tokenCase>;
export type DecisionCase = z.infer<typeof decisionCase>;
export type Corpora = { readonly [Name in keyof typeof FORMATS]: z.infer<(typeof FORMATS)[Name]> };
