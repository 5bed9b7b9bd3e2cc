/** The `issuers` of a JSON configuration: every name is converted and reported as a JSON name. */
import { describe, expect, it } from "vitest";
import { parseConfiguration } from "scopegate/complete";
import { TRUSTED_ISSUER_NAMES } from "../../src/core/options/shape.ts";
import { thrownBy } from "../support/resource-servers.ts";
import { B } from "../core/options/issuer-mistakes.ts";
import { JSON_NAMES } from "./json-names.ts";

/** Every JSON name of an entry with a value, and the property that it becomes. */
const names = [
  ...JSON_NAMES.filter(([, option]) => (TRUSTED_ISSUER_NAMES as readonly string[]).includes(option)),
  ["tenant", "tenant", "acme"] as const,
  ["scopes", "scopes", ["orgs:read"]] as const,
];

/** Every key source with JSON names, and with option names. */
const sources: readonly (readonly [object, object])[] = [
  [{ jwks: { keys: [] } }, { jwks: { keys: [] } }],
  [{ jwks_file: "a.json" }, { jwksFile: "a.json" }],
  [{ discovery: true }, { discovery: true }],
  [
    { jwks_uri: "https://a.example", timeout_ms: 1, cooldown_ms: 2, max_age_ms: 3, stale_ms: 4 },
    { jwksUri: "https://a.example", timeoutMs: 1, cooldownMs: 2, maxAgeMs: 3, staleMs: 4 },
  ],
];

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const parse = (...issuers: readonly unknown[]) => parseConfiguration(json({ issuers }));
const issuesOf = (entry: unknown) =>
  thrownBy(() => parse({ issuer: "a", algorithms: ["RS256"], keys: {} }, entry)).issues;

describe("issuers in parseConfiguration", () => {
  it("supports every property", () => {
    expect(names.map(([, option]) => option).toSorted()).toEqual(TRUSTED_ISSUER_NAMES.toSorted());
  });

  it.each(names)("converts %s to %s, and keeps its value unchanged", (name, option, value) => {
    const other = { issuer: "d", algorithms: ["ES256"], keys: { discovery: "https://d.example" } };
    expect(parse(other, { ...other, [name]: value }).issuers).toEqual([other, { ...other, [option]: value }]);
  });

  it.each(sources)("converts the keys %j to %j", (keys, expected) => {
    const [first] = parse({ ...B, keys }).issuers ?? [];
    expect(first?.keys).toEqual(expected);
    expect(parseConfiguration({ keys }).keys).toEqual(expected);
  });

  it.each([
    ["requiredClaims", "Did you mean `required_claims`?"],
    ["algorithm", "Did you mean `algorithms`?"],
    ["service_id", "table of options"],
    ["toString", "table of options"],
  ])("rejects %s with its JSON name: %s", (name, hint) => {
    const issues = issuesOf({ ...B, [name]: ["exp"] });
    expect(issues).toMatchObject([{ code: "option_unknown", path: ["issuers", 1, name] }]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it.each([
    ["jwksUri", "Did you mean `jwks_uri`?"],
    ["jwks_url", "Did you mean `jwks_uri`?"],
    ["fetch", "table of options"],
  ])("rejects %s in the keys of an issuer, as in the keys of a server: %s", (name, hint) => {
    const keys = { jwks_uri: "https://b.example", [name]: "https://b.example" };
    const expected = { code: "option_unknown", hint: expect.stringContaining(hint) as string };
    expect(issuesOf({ ...B, keys })).toMatchObject([{ ...expected, path: ["issuers", 1, "keys", name] }]);
    expect(thrownBy(() => parseConfiguration({ keys })).issues).toMatchObject([
      { ...expected, path: ["keys", name] },
    ]);
  });

  it("rejects a property called __proto__, and inherits nothing from it", () => {
    const entry: unknown = JSON.parse(`{"__proto__":{"verify_audience":false},${JSON.stringify(B).slice(1)}`);
    expect(thrownBy(() => parseConfiguration({ issuers: [entry] })).issues).toMatchObject([
      { code: "option_unknown", path: ["issuers", 0, "__proto__"] },
    ]);
  });

  it("lists every mistake of every entry", () => {
    const wrong = [
      { ...B, verify_audience: "no", clock_tolerance: 5 },
      { ...B, keys: { jwks_uri: "http://a.example" }, token_types: [] },
      null,
      { algorithms: ["none"] },
    ];
    const { issues, message } = thrownBy(() => parse(...wrong));
    expect(issues.map(({ code, path }) => `${code} ${path.join("/")}`).toSorted()).toEqual([
      "option_invalid issuers/0/verify_audience",
      "option_invalid issuers/1/keys/jwks_uri",
      "option_invalid issuers/1/token_types",
      "option_invalid issuers/2",
      "option_invalid issuers/3/algorithms/0",
      "option_missing issuers/3/issuer",
      "option_unknown issuers/0/clock_tolerance",
    ]);
    expect(message).toContain("issuers[1].keys.jwks_uri: ");
  });
});
