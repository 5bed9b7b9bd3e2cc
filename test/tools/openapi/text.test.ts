import { describe, expect, it } from "vitest";
import { ConfigurationError } from "scopegate";
import { parseDocument, renderDocument } from "scopegate/openapi";
import { loadYaml } from "../../../src/tools/openapi/yaml.ts";
import { documentOf } from "./support/documents.ts";

const YAML = `# Agents
openapi: 3.1.0
info: &info
  title: "no"
  version: "1.10"
x-info: *info
paths:
  /x:
    get:
      responses:
        200:
          <<: { description: Done }
`;

describe("parseDocument", () => {
  it("reads YAML with aliases, merge keys and numbers as keys", () => {
    const document = parseDocument(YAML);
    const info = { title: "no", version: "1.10" };
    const get = { responses: { 200: { description: "Done" } } };
    expect(document).toEqual({ openapi: "3.1.0", info, "x-info": info, paths: { "/x": { get } } });
    expect(document["info"]).not.toBe(document["x-info"]);
  });

  it("reads JSON, with a byte order mark as well", () => {
    const document = documentOf(["GET /x"]);
    expect(parseDocument(JSON.stringify(document))).toEqual(document);
    expect(parseDocument(`\ufeff${JSON.stringify(document)}`)).toEqual(document);
  });

  it("keeps keys that are names of prototypes", () => {
    for (const text of [`{"openapi":"3.1.0","__proto__":{"a":1}}`, "openapi: 3.1.0\n__proto__: { a: 1 }"]) {
      const document = parseDocument(text);
      expect(Object.getPrototypeOf(document)).toBe(Object.prototype);
      expect(Object.keys(document)).toEqual(["openapi", "__proto__"]);
    }
  });

  it("rejects bytes, with what to write", () => {
    expect(() => parseDocument(Buffer.from("openapi: 3.1.0") as never)).toThrow(
      'readFileSync("api.yaml", "utf8")',
    );
  });

  const bomb = ["a0: &a0 [x]"];
  for (let index = 1; index < 10; index += 1)
    bomb.push(
      `a${index}: &a${index} [${Array<string>(10)
        .fill(`*a${index - 1}`)
        .join(", ")}]`,
    );

  it.each([
    ["a key twice", "openapi: 3.1.0\npaths: {}\npaths: {}", "DUPLICATE_KEY at line 3"],
    ["a key twice in JSON", '{"openapi":"3.1.0",\n"paths":{},\n"paths":{}}', "DUPLICATE_KEY at line 3"],
    ["text that is neither", "{ secret-value: [", "line 1"],
    ["two documents", "a: 1\n---\nb: 1", "MULTIPLE_DOCS"],
    ["too many aliases", bomb.join("\n"), "aliases"],
    ["a circle", "openapi: 3.1.0\npaths: &a { b: *a }", "aliases"],
    ["an alias of nothing", "openapi: 3.1.0\npaths: *a", "aliases"],
    ["deep nesting", "[".repeat(100_000), "can't be read"],
    ["deep nesting without brackets", `${"- ".repeat(100_000)}x`, "can't be read"],
    ["deep nesting by keys", `${"? ".repeat(100_000)}x`, "can't be read"],
    [
      "aliases of a long text",
      `x: &a "${"y".repeat(200_000)}"\n${Array.from({ length: 900 }, (_, index) => `k${index}: *a`).join("\n")}`,
      "aliases",
    ],
    ["a number", "3", "parseDocument"],
    ["nothing", "", "parseDocument"],
    ["Swagger 2.0", 'swagger: "2.0"', "Convert it to OpenAPI 3.0 or 3.1"],
  ])("rejects %s", (_, text, message) => {
    expect(() => parseDocument(text)).toThrow(message);
    expect(() => parseDocument(text)).not.toThrow("secret-value");
  });
});

describe("loadYaml", () => {
  const missing = (): never => {
    throw new Error("Cannot find module 'yaml'");
  };

  it.each([
    ["isn't installed", missing, "which isn't installed. Run `npm install yaml`"],
    [
      "is older than version 2",
      () => ({ parse: JSON.parse }),
      "which is older than version 2. Run `npm install",
    ],
  ])("rejects YAML if the package %s, with the fix", (_, load, message) => {
    expect(() => loadYaml(load)).toThrow(message);
    expect(() => loadYaml(load)).toThrow(ConfigurationError);
  });
});

describe("renderDocument", () => {
  it("writes YAML and JSON that read as the same document, in its order", () => {
    const shared = { version: "2020-01-01", title: "yes" };
    const document = { ...documentOf(["GET /x"]), info: shared, "x-info": shared };
    for (const format of ["json", "yaml"] as const) {
      const text = renderDocument(document, format);
      expect(parseDocument(text)).toEqual(document);
      expect(Object.keys(parseDocument(text))).toEqual(Object.keys(document));
      expect(text.endsWith("\n")).toBe(true);
      expect(text).not.toMatch(/[&*]a\d/);
    }
    expect(renderDocument(document, "yaml")).toContain('title: "yes"');
  });

  it("escapes control characters and characters that change the direction of text, in values and names", () => {
    const hidden = "a\u009b31m\u0085 \u202eb\u2066c\u2069 \u200f\u061c\u2028d\u007f";
    const texts = [
      hidden,
      `\\${hidden}\n${hidden}`,
      `'"${hidden}`,
      `${hidden}\u{1f600}\u{1f469}\u200d\u{1f4bb}`,
    ];
    for (const text of texts) {
      const document = {
        ...documentOf(["GET /x"]),
        info: { title: text, version: "1" },
        [`x-${text}`]: [text],
      };
      for (const format of ["json", "yaml"] as const) {
        const rendered = renderDocument(document, format);
        expect(rendered).not.toMatch(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
        expect(parseDocument(rendered)).toEqual(document);
      }
    }
    expect(renderDocument({ ...documentOf(["GET /x"]), "x-plain": "\u0645\u06cc\u200c" }, "yaml")).toContain(
      "x-plain: \u0645\u06cc\u200c\n",
    );
  });
});
