/** Reads OpenAPI documents: only own properties, local references, and the operations in `paths`. */
import { orUndefined, ConfigurationError, type ConfigurationIssue, type Report } from "../../core/errors.ts";
import { oneOf, type OptionChecks } from "../../core/options/option-checks.ts";
import { isPattern, parsePattern } from "../../core/policy/parse-pattern.ts";
import { literalPattern, quoteName, unquote } from "../../core/policy/pattern-text.ts";

/** An OpenAPI document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/** How the paths of a document become paths of the server. */
export interface DocumentOptions {
  /**
   * The path before all paths, as the server receives it: `"/v1"`, or `""` if a proxy removes it. Default:
   * the path of `servers`, with the default values of their variables.
   */
  readonly basePath?: string;
  /**
   * What an operation requires if neither it nor the document has `security`: a valid token, nothing, or
   * `"error"` if that's a mistake. Default: `"authenticated"`.
   */
  readonly missingSecurity?: "authenticated" | "public" | "error";
}

/** Finds a nested property. Inherited properties don't count. */
export const readOwn = (value: unknown, ...names: readonly string[]): unknown =>
  names.reduce((at, name) => Object.getOwnPropertyDescriptor(Object(at), name)?.value as unknown, value);

export const membersOf = (value: unknown): OpenApiDocument | undefined =>
  typeof value === "object" && !Array.isArray(value) ? ((value ?? undefined) as OpenApiDocument) : undefined;

export const issueAt = (path: readonly string[], message: string, hint: string): ConfigurationIssue =>
  Object.freeze({ code: "option_invalid", path, message, hint });

/** @throws ConfigurationError for anything but a document of OpenAPI 3.0 or 3.1 */
export function requireDocument(document: unknown): OpenApiDocument {
  const version = readOwn(document, "openapi") ?? readOwn(document, "swagger");
  const text = typeof version === "string" ? version : "";
  if (/^3\.[01]\.\d/.test(text) && membersOf(readOwn(document, "paths") ?? {}))
    return document as OpenApiDocument;
  const hint = /^(?!3\.[01])\d/.test(text)
    ? "Convert it to OpenAPI 3.0 or 3.1 first."
    : 'Pass an object with `openapi: "3.1.0"` and `paths`; parseDocument reads one from JSON or YAML.';
  throw new ConfigurationError([issueAt(["document"], "isn't a document of OpenAPI 3.0 or 3.1.", hint)]);
}

export const DOCUMENT_OPTIONS: OptionChecks<DocumentOptions> = {
  basePath: {
    accepts: (basePath) => typeof basePath === "string",
    hint: 'Write the path before all paths: "/v1", or "" for none.',
  },
  missingSecurity: oneOf("authenticated", "public", "error"),
};

/** What an operation without `security` requires; `undefined` if that's a mistake. */
export const MISSING_SECURITY = { authenticated: [], public: "public", error: undefined } as const;

/** Resolves a reference within the document; `undefined` for any other reference, and for a circular one. */
export function resolve(document: OpenApiDocument, value: unknown, depth = 0): OpenApiDocument | undefined {
  const { $ref: reference, ...siblings } = membersOf(value) ?? {};
  if (reference === undefined) return membersOf(value);
  const text = typeof reference === "string" ? reference : "";
  const [root, ...names] = orUndefined(() => decodeURIComponent(text).split("/")) ?? [];
  if (root !== "#" || depth > 50) return undefined;
  const steps = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const target = resolve(document, readOwn(document, ...steps), depth + 1);
  return target && { ...target, ...siblings };
}

/** An operation, and its whole path in the table's syntax. */
export type Operation = ReturnType<typeof listOperations>[number];

/** Lists the operations of a document, and reports operations that can't be compared with a table. */
export function listOperations(
  document: OpenApiDocument,
  report: Report,
  { basePath }: DocumentOptions = {},
) {
  const paths = Object.entries(membersOf(readOwn(document, "paths")) ?? {}).filter(
    ([path]) => !path.startsWith("x-"),
  );
  return paths.flatMap(([path, written]) => {
    // OpenAPI doesn't define which one counts: an operation of the reference, or one next to it.
    const isMixed =
      readOwn(written, "$ref") !== undefined && Object.keys(Object(written) as object).some(isMethod);
    const item = (isMixed ? undefined : resolve(document, written)) ?? { "*": undefined };
    return Object.entries(item).flatMap(([name, content]) => {
      if (!isMethod(name)) return [];
      const place = ["document", "paths", path, name] as const;
      const value = name === name.toLowerCase() ? membersOf(content) : undefined;
      const base =
        basePath ??
        basePathOf(readOwn(value, "servers") ?? readOwn(item, "servers") ?? readOwn(document, "servers"));
      const pattern = value && base !== undefined ? readPattern(base, path) : UNREADABLE;
      if (isPattern(pattern) && value) {
        const security = readOwn(Object.hasOwn(value, "security") ? value : document, "security");
        return [{ method: name.toUpperCase(), place, path, name, item, value, security, pattern }];
      }
      report({ ...UNREADABLE, ...pattern, path: place });
      return [];
    });
  });
}

const isMethod = (name: string): boolean =>
  /^(?:get|put|post|delete|options|head|patch|trace|\*)$/i.test(name);

const UNREADABLE = {
  code: "route_pattern_invalid",
  message:
    "isn't an object in this document, has braces in a static part of its path, or has servers with different paths.",
  hint: 'Bundle the document, write methods in lower case, parameters as `{name}`, or pass { basePath: "/v1" }.',
} as const;

function basePathOf(servers: unknown): string | undefined {
  const all: readonly unknown[] = Array.isArray(servers) && servers.length > 0 ? servers : [{ url: "/" }];
  const paths = all.map((server) => {
    const defaultOf = (whole: string, name: string): string =>
      (readOwn(server, "variables", name, "default") as string | undefined) ?? whole;
    const url = String(readOwn(server, "url")).replaceAll(/\{([^{}]*)\}/g, defaultOf);
    return /[{}]/.test(url) ? undefined : orUndefined(() => new URL(url, "http://localhost/").pathname);
  });
  const [path, ...others] = new Set(paths.map((path) => path?.replace(/\/$/, "")));
  return others.length > 0 ? undefined : path;
}

/** Converts `/agents/{id}` to a pattern of the table: `/agents/:id`. All other characters are literal. */
function readPattern(base: string, path: string) {
  const parts = path.split(/\{([^{}/]+)\}/);
  if (parts.some((part, index) => index % 2 === 0 && /[{}]/.test(part))) return UNREADABLE;
  const rendered = parts.map((part, index) => (index % 2 > 0 ? `:${quoteName(part)}` : literalPattern(part)));
  return parsePattern(unquote(literalPattern(base) + rendered.join("")));
}
