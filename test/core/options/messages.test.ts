/** Configuration errors as readers see them: what was found, where, and the fix. */
import { describe, expect, it } from "vitest";
import { configurationErrorOf, createServer, issuer } from "../../support/resource-servers.ts";

const { publicPem } = issuer;

/** The message of the error for these options. */
const messageFor = (options: object, keys: object = { verificationKeys: [publicPem] }): string =>
  configurationErrorOf({ serviceId: "agents-prod", ...keys, ...options }).message;

describe("the message of a configuration error", () => {
  it.each<[string, object, string]>([
    ["a number", { clockToleranceSeconds: -1 }, "clockToleranceSeconds: can't be `-1`. Write a number"],
    ["a boolean", { adminScope: true }, "adminScope: can't be `true`. Write a scope"],
    [
      "a requirement",
      { scopeMappings: { "GET /x": "pubic" } },
      'scopeMappings["GET /x"]: can\'t be `"pubic"`.',
    ],
    ["an object", { scopeMappings: { "GET /x": { anyof: ["a:b"] } } }, 'can\'t be `{"anyof":["a:b"]}`.'],
  ])("quotes %s", (_, options, expected) => {
    expect(messageFor(options)).toContain(expected);
  });

  it("quotes only the start of a long value", () => {
    expect(messageFor({ scopeMappings: { "GET /x": "y".repeat(1_000) } }).length).toBeLessThan(450);
  });

  it("omits a value that may be a key or a secret", () => {
    expect(messageFor({ verificationKeys: [4242424242] })).not.toContain("4242424242");
    expect(messageFor({ realm: "s3cr\u00e9t" })).not.toContain("s3cr");
  });

  it.each<[string, unknown, string]>([
    [
      "a file read as bytes",
      Buffer.from(publicPem),
      'can\'t be a Buffer.*readFileSync\\("public.pem", "utf8"\\)',
    ],
    ["bytes", new Uint8Array(4), "can't be a Uint8Array"],
    ["an unset variable", undefined, "can't be undefined.*Is the environment variable set"],
    ["an empty variable", "", "can't be an empty string.*Is the environment variable set"],
  ])("names the kind of value that was found instead of a key: %s", (_, key, expected) => {
    expect(messageFor({}, { verificationKeys: [key] })).toMatch(
      new RegExp(`^verificationKeys\\[0\\]: ${expected}`),
    );
  });

  it("explains why no token can be granted the admin scope", () => {
    expect(messageFor({ adminScope: "a::b" })).toContain('adminScope: "a::b" has an empty part');
  });

  it.each([
    ["http://login.example/keys", "write `https://` instead of `http://`"],
    ["https://user:hunter2@login.example/keys", "contains a user or a password: remove them"],
    ["/keys", "is relative: add `https://` and the host"],
    ["login.example/keys", "has no scheme: add `https://`"],
    ["ftp://login.example/keys", "starts with `ftp:`"],
    ["localhost:8080/keys", "starts with `localhost:`: is `https://` missing?"],
    [
      "",
      "keys.jwksUri: can't be an empty string. Write an absolute https URL; http is only allowed for this machine.",
    ],
  ])("explains once what is wrong with the URL %j, without the password", (jwksUri, expected) => {
    const message = messageFor({}, { keys: { jwksUri } });
    expect(message).toContain(expected);
    expect(message).not.toContain("hunter2");
    expect(message.split("\n")).toHaveLength(1);
  });

  it.each(["http://localhost:3000/meta", "http://127.0.0.1:3000/meta", "http://[::1]/meta"])(
    "accepts a URL of this machine with http, in every option: %s",
    (url) => {
      for (const keys of [{ jwksUri: url }, { discovery: url }])
        expect(() => createServer({ resourceMetadataUrl: url, issuer: url, keys })).not.toThrow();
    },
  );

  it.each<[string, object]>([
    ["inherited", Object.create({ "GET /x": ["a:b"] }) as object],
    ["partly inherited", Object.assign(Object.create({ "GET /x": ["a:b"] }) as object, { "GET /y": [] })],
    ["hidden", Object.defineProperty({}, "GET /x", { value: ["a:b"], enumerable: false })],
    [
      "in a class",
      new (class {
        "GET /x" = ["a:b"];
      })(),
    ],
    ["in a Map", new Map([["GET /x", ["a:b"]]])],
  ])("reports a table whose rules are %s, because they would be missing", (_, table) => {
    for (const option of ["scopeMappings", "defaultScopeMappings", "impliedScopes"])
      expect(messageFor({ [option]: table })).toMatch(
        new RegExp(`^${option}: can't be this object.*Inherited and hidden properties aren't read`),
      );
  });

  it("accepts a table without a prototype, and an empty one", () => {
    const bare = Object.assign(Object.create(null) as object, { "GET /x": ["a:b"] });
    expect(() => createServer({ scopeMappings: bare, impliedScopes: {} })).not.toThrow();
  });

  const withoutServiceId = { serviceId: undefined };
  const withoutKeys = { verificationKeys: undefined };

  it.each([
    ["serviceID", { ...withoutServiceId, serviceID: "agents-prod" }],
    ["verificationKey", { ...withoutKeys, verificationKey: [publicPem] }],
    ["publicKey", { ...withoutKeys, publicKey: publicPem }],
    ["aud", { ...withoutServiceId, aud: "agents-prod" }],
  ])("reports only the misspelled %s, and not a missing option", (name, options) => {
    const message = messageFor(options);
    expect(message).toContain(`${name}: received unknown option`);
    expect(message.split("\n")).toHaveLength(1);
  });
});
