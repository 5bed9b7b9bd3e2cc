/** Configuration errors as their reader sees them: what was found, where, and what to write. */
import { describe, expect, it } from "vitest";
import { ConfigurationError, createResourceServer } from "scopegate";
import { createIssuer } from "../support/issuer.ts";

const { publicPem } = createIssuer();

/** The message of the error that some options make. */
function messageFor(options: object, keys: object = { verificationKeys: [publicPem] }): string {
  try {
    createResourceServer({ serviceId: "agents-prod", ...keys, ...options });
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  return "";
}

describe("the message of a configuration error", () => {
  it.each<[string, object, string]>([
    ["a number", { clockToleranceSeconds: -1 }, "clockToleranceSeconds: cannot be `-1`. Write a number"],
    ["a flag", { adminScope: true }, "adminScope: cannot be `true`. Write a scope"],
    [
      "a requirement",
      { scopeMappings: { "GET /x": "pubic" } },
      'scopeMappings["GET /x"]: cannot be `"pubic"`.',
    ],
    ["an object", { scopeMappings: { "GET /x": { anyof: ["a:b"] } } }, 'cannot be `{"anyof":["a:b"]}`.'],
  ])("quotes %s that it found", (_, options, expected) => {
    expect(messageFor(options)).toContain(expected);
  });

  it("quotes no more of a long value than it takes to find it", () => {
    expect(messageFor({ scopeMappings: { "GET /x": "y".repeat(1_000) } }).length).toBeLessThan(400);
  });

  it("does not quote what may be a key or a secret", () => {
    expect(messageFor({ verificationKeys: [4242424242] })).not.toContain("4242424242");
    expect(messageFor({ realm: "s3cr\u00e9t" })).not.toContain("s3cr");
  });

  it("has the line for a single scope that is no list", () => {
    expect(messageFor({ scopeMappings: { "GET /x": "agents:read" } })).toContain('Write ["agents:read"].');
  });

  it("has the list for scopes that stand in one text", () => {
    expect(messageFor({ scopeMappings: { "GET /x": ["a:read a:write"] } })).toContain(
      'Write each scope as a separate string: ["a:read", "a:write"].',
    );
    expect(messageFor({ scopeMappings: { "GET /x": ["a:read a::b"] } })).toContain("without empty parts");
    expect(messageFor({ scopeMappings: { "GET /x": { filtered: "a:read b:read" } } })).not.toContain("separate string");
  });

  it.each<[string, unknown, string]>([
    [
      "a file that was read as bytes",
      Buffer.from(publicPem),
      'cannot be a Buffer.*readFileSync\\("public.pem", "utf8"\\)',
    ],
    ["bytes", new Uint8Array(4), "cannot be a Uint8Array"],
    ["a variable that is not set", undefined, "cannot be undefined.*Is the environment variable set"],
    ["an empty variable", "", "cannot be an empty string.*Is the environment variable set"],
  ])("tells of a key what it is: %s", (_, key, expected) => {
    expect(messageFor({}, { verificationKeys: [key] })).toMatch(
      new RegExp(`^verificationKeys\\[0\\]: ${expected}`),
    );
  });

  it("tells of a scope of the hierarchy that no token can be granted", () => {
    expect(messageFor({ adminScope: "a::b" })).toContain('adminScope: "a::b" has an empty part');
    expect(messageFor({ impliedScopes: { "a::b": ["a:c"] } })).toContain('"a::b" has an empty part');
    expect(messageFor({ impliedScopes: { "a:b": ["a:c", ":a"] } })).toContain('":a" has an empty part');
  });

  it.each([
    ["http://login.example/keys", "write `https://` in place of `http://`"],
    ["https://user:hunter2@login.example/keys", "holds a user or a password: leave them out"],
    ["/keys", "is relative: put `https://` and the host in front"],
    ["login.example/keys", "has no scheme: put `https://` in front"],
    ["ftp://login.example/keys", "begins with `ftp:`"],
    ["localhost:8080/keys", "begins with `localhost:`: is `https://` missing in front?"],
  ])("tells what is wrong with the URL %s, once and without a password", (jwksUri, expected) => {
    const message = messageFor({}, { keys: { jwksUri } });
    expect(message).toContain(expected);
    expect(message).not.toContain("hunter2");
    expect(message.split("\n")).toHaveLength(1);
  });

  it("says that an empty URL is one, once", () => {
    const message = messageFor({}, { keys: { jwksUri: "" } });
    expect(message).toBe(
      "keys.jwksUri: cannot be an empty string. Write an absolute https URL; http is for this machine alone.",
    );
  });

  it.each([
    ["serviceID", { serviceId: undefined, serviceID: "agents-prod" }, {}],
    ["verificationKey", { verificationKey: [publicPem] }, { verificationKeys: undefined }],
    ["publicKey", { publicKey: publicPem }, { verificationKeys: undefined }],
    ["aud", { serviceId: undefined, aud: "agents-prod" }, {}],
  ])(
    "has one line for one cause: %s is misspelt, and what it stands for is not missing",
    (name, options, keys) => {
      const given = Object.keys(keys).length > 0 ? {} : { verificationKeys: [publicPem] };
      const message = messageFor(options, given);
      expect(message).toContain(`${name}: received unknown option`);
      expect(message.split("\n")).toHaveLength(1);
    },
  );
});
