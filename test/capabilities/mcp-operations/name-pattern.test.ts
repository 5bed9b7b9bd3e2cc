import { UriTemplate as UriTemplate1 } from "@modelcontextprotocol/sdk/shared/uriTemplate.js";
import { UriTemplate as UriTemplate2 } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contains,
  fillName,
  matchName,
  type NamePattern,
  parsePrefix,
  parseTemplate,
} from "../../../src/capabilities/mcp-operations/name-pattern.ts";
import { PROPERTY } from "../../support/policy.ts";

function template(source: string): NamePattern {
  const pattern = parseTemplate(source);
  if ("message" in pattern) throw new Error(pattern.message);
  return pattern;
}
const match = (source: string, uri: string) => {
  const values = matchName(template(source), uri);
  return values && Object.fromEntries(values);
};

/** Pieces of templates and URIs that can meet in many ways. */
const LITERALS = ["a", "b", "/", "-", ",", ".", "?", "&", "=", "x=", "?q=", "aa", "//"];
const EXPRESSIONS = ["{v}", "{+v}", "{.v}", "{/v}", "{?v}", "{&v}", "{?v,w}", "{#v}"];
const templates = fc
  .array(fc.constantFrom(...LITERALS, ...EXPRESSIONS), { maxLength: 6 })
  .map((pieces) => {
    let count = 0;
    const named = pieces.map((piece) => piece.replaceAll(/[vw](?=[,}])/g, () => `n${(count += 1)}`));
    return `d://h/${named.join("")}`;
  })
  .filter((source) => !("message" in parseTemplate(source)));
const uris = fc
  .array(fc.constantFrom(...LITERALS, "n1=", "n2=", "n1", "%2F", "%61"), { maxLength: 8 })
  .map((pieces) => `d://h/${pieces.join("")}`);

describe("a URI template", () => {
  it.each([
    ["payroll://{month}", "payroll://may", { month: "may" }],
    ["payroll://{month}", "payroll://a/b", undefined],
    ["payroll://{month}", "payroll://a,b", undefined],
    ["file:///{+path}", "file:///a/b,c", { path: "" }],
    ["file:///{+path}", "file:///a/b", { path: "a/b" }],
    ["docs://{id}.{type}", "docs://a.b.c", { id: "a.b", type: "c" }],
    ["docs://search{?q,page}", "docs://search?q=x&page=2", { q: "x", page: "2" }],
    ["docs://search{?q,page}", "docs://search?page=2&q=x", undefined],
    ["repo://{owner}{/name}", "repo://a/b", { owner: "a", name: "b" }],
    ["docs://{id}", "docs://a%62", { id: "" }],
  ])("%s matches %s: %j", (source, uri, values) => expect(match(source, uri)).toEqual(values));

  it("matches what both versions of the SDK match, with the same values", () => {
    let matches = 0;
    fc.assert(
      fc.property(templates, uris, (source, uri) => {
        const pattern = template(source);
        const values = matchName(pattern, uri);
        for (const Template of [UriTemplate1, UriTemplate2]) {
          const expected = new Template(source).match(uri);
          expect(values !== undefined).toBe(expected !== null);
          // Handlers may decode an escape or divide a list, so such a value decides nothing.
          for (const [name, value] of Object.entries(expected ?? {}))
            expect(values?.get(name)).toBe(/[%,]/.test(String(value)) ? "" : value);
        }
        if (values) matches += 1;
      }),
      { ...PROPERTY, numRuns: 20_000 },
    );
    expect(matches).toBeGreaterThan(100);
  });

  it("contains another one only if it matches every URI of the other one", () => {
    let contained = 0;
    fc.assert(
      fc.property(templates, templates, uris, (wide, narrow, uri) => {
        const [wider, narrower] = [template(wide), template(narrow)];
        if (!contains(wider, narrower)) return;
        contained += 1;
        if (matchName(narrower, uri)) expect(matchName(wider, uri)).toBeDefined();
        const filled = fillName(narrower, () => "z");
        expect(matchName(wider, filled)).toBeDefined();
      }),
      { ...PROPERTY, numRuns: 20_000 },
    );
    expect(contained).toBeGreaterThan(100);
  });

  it("keeps its identity with other names of variables, and changes it with other operators", () => {
    expect(template("d://{a}/{b}").identity).toBe(template("d://{x}/{y}").identity);
    expect(template("d://{a}").identity).not.toBe(template("d://{+a}").identity);
    expect(template("d://x{?a}").identity).not.toBe(template("d://x?a={a}").identity);
  });

  it("matches a long URI in time that grows with its length only", () => {
    const source = template("d://{+a}x{+b}x{+c}x{d}y");
    const cost = (length: number): number => {
      let reads = 0;
      const uri = new Proxy(new String(`d://${"x".repeat(length)}`), {
        get: (text, name) => {
          const value: unknown = Reflect.get(text, name);
          if (name === "charAt") reads += 1;
          return typeof value === "function" ? (value.bind(text) as unknown) : value;
        },
      });
      expect(matchName(source, uri as unknown as string)).toBeUndefined();
      return reads;
    };
    expect(cost(4_000) / cost(1_000)).toBeCloseTo(4, 1);
  });

  it.each([
    ["d://{a,b}", "Write {a},{b}."],
    ["d://{a*}", "Write `{name}`"],
    ["d://{a:3}", "Write `{name}`"],
    ["d://{}", "Write `{name}`"],
    ["d://{a", "Write `{name}`"],
    ["d://a}", "Write `{name}`"],
    ["d://{a}/{a}", "own name"],
    ["D://{a}", "Write `d://{a}`."],
    ["https://Docs.example/{a}", "Write `https://docs.example/{a}`."],
    ["d://x/../{a}", "Write `d://x/{a}`."],
    ["{+uri}", "Write a scheme"],
    ["docs/{id}", "Write a scheme"],
  ])("refuses it where servers would match something else or nothing: %s", (source, hint) => {
    expect(parseTemplate(source)).toMatchObject({ hint: expect.stringContaining(hint) as string });
  });
});

describe("a name with a final asterisk", () => {
  it("matches every name that begins with the text before it", () => {
    const prefix = parsePrefix("docs_*");
    for (const name of ["docs_read", "docs_a/b", "docs_%"])
      expect(matchName(prefix, name)).toEqual(new Map());
    for (const name of ["docs", "Docs_read", "xdocs_read"]) expect(matchName(prefix, name)).toBeUndefined();
    expect(contains(parsePrefix("docs*"), prefix)).toBe(true);
    expect(contains(prefix, parsePrefix("docs*"))).toBe(false);
  });
});
