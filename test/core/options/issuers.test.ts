/** Mistakes in the entries of `issuers`. A mistake in one entry must not hide a mistake in another. */
import { describe, expect, it } from "vitest";
import { TRUSTED_ISSUER_NAMES } from "../../../src/core/options/shape.ts";
import { configurationErrorOf, issuer, issuesOf } from "../../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";
import { A, B, MISTAKES } from "./issuer-mistakes.ts";

const optionsOf = (issuers: unknown, more: object = {}) => ({ serviceId: "agents-prod", issuers, ...more });
const beside = (wrong: unknown) => optionsOf([A, wrong]);
const mistakesOf = (options: unknown) =>
  issuesOf(options).map(({ code, path }) => `${code} ${path.join("/")}`);

describe("an entry of issuers", () => {
  it.each(MISTAKES)("rejects %s", (_, entry, mistake, hint) => {
    const issues = issuesOf(beside(entry));
    const [code, path] = mistake.split(" ");
    expect(issues.map((issue) => `${issue.code} ${issue.path.join(".")}`)).toEqual([
      `${code} issuers.1${path === undefined ? "" : `.${path}`}`,
    ]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it.each(TRUSTED_ISSUER_NAMES)(
    "rejects the property %s with the value undefined, because the server's option would apply",
    (name) => {
      const server = {
        requiredClaims: ["exp"],
        maxTokenAgeSeconds: 60,
        audience: "agents",
        verifyAudience: false,
      };
      expect(issuesOf(optionsOf([A, { ...B, [name]: undefined }], server))).toMatchObject([
        { code: "option_invalid", path: ["issuers", 1, name], message: "can't be undefined." },
      ]);
    },
  );

  it.each(["issuer", "keys", "algorithms"])("requires %s", (name) => {
    const entry = Object.fromEntries(Object.entries(B).filter(([member]) => member !== name));
    expect(issuesOf(beside(entry))).toMatchObject([{ code: "option_missing", path: ["issuers", 1, name] }]);
  });

  it("allows an object without a prototype", () => {
    const entry: unknown = Object.assign(Object.create(null) as object, B);
    expect(() => createResourceServer(beside(entry) as ResourceServerOptions)).not.toThrow();
  });

  it("reports its mistakes together with those of the other entries: first all shapes", () => {
    const options = optionsOf([
      { ...A, algorithms: [] },
      { ...A, audiance: "a" },
      null,
      { ...B, issuer: 5, algorithms: ["HS256", "ES256"] },
      { ...A, keys: { jwksUri: "http://a.example" }, requiredClaims: undefined },
    ]);
    expect(mistakesOf(options).toSorted()).toEqual([
      "option_invalid issuers/0/algorithms",
      "option_invalid issuers/2",
      "option_invalid issuers/3/issuer",
      "option_invalid issuers/4/keys/jwksUri",
      "option_invalid issuers/4/requiredClaims",
      "option_unknown issuers/1/audiance",
    ]);
  });

  it("reports its mistakes together with those of the other entries: then what they say together", () => {
    const options = optionsOf(
      [
        { ...A, issuer: B.issuer, audience: "a" },
        B,
        { ...A, verificationKeys: ["x", issuer.privateKey] },
        { ...B, issuer: "https://other.example", algorithms: ["HS256", "ES256"] },
      ],
      { serviceId: undefined, algorithm: "RS256", verificationKeys: A.verificationKeys, adminScope: "a b" },
    );
    expect(mistakesOf(options).toSorted()).toEqual([
      "algorithms_mixed issuers/3/algorithms",
      "key_invalid issuers/2/verificationKeys/0",
      "key_private issuers/2/verificationKeys/1",
      "option_conflict algorithm",
      "option_conflict issuers/1/issuer",
      "option_conflict verificationKeys",
      "option_missing issuers/1/audience",
      "option_missing issuers/2/audience",
      "option_missing issuers/3/audience",
      "scope_invalid adminScope",
    ]);
    expect(configurationErrorOf(options).message).toContain("issuers[2].verificationKeys[1]: ");
  });

  it("requires no audience if the server has one, or if the entry has verifyAudience false", () => {
    const unverified = [A, B].map((entry) => ({ ...entry, verifyAudience: false }));
    for (const options of [optionsOf([A, B]), optionsOf(unverified, { serviceId: undefined })])
      expect(() => createResourceServer(options as ResourceServerOptions)).not.toThrow();
  });

  it.each<readonly [string, object]>([
    ["instead of its keys", { keys: "canary-secret" }],
    ["as a published key", { keys: { jwks: { keys: [{ kty: "oct", k: "canary-secret" }] } } }],
    ["in the URL of its keys", { keys: { jwksUri: "http://b.example/?key=canary-secret" } }],
    ["as its issuer", { issuer: { secret: "canary-secret" } }],
    ["under an unknown name", { secret: "canary-secret" }],
  ])("never appears in an error with a secret %s", (_, members) => {
    const { message, stack, issues } = configurationErrorOf(beside({ ...B, ...members }));
    expect([message, stack, JSON.stringify(issues)].join("\n")).not.toContain("canary");
  });
});
