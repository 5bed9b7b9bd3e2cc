/** Wrong options throw at construction. The error shows the fix, and no secret. */
import { createPublicKey } from "node:crypto";
import { expect, it } from "vitest";
import { introspection, type IntrospectionOptions } from "scopegate/introspection";
import { remoteKeys } from "scopegate/keys";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { thrownBy } from "../../support/resource-servers.ts";
import { CANARY, CLIENT } from "./support.ts";

const URL = "https://login.example/introspect";
const privateKey = generateKey("ec", { namedCurve: "P-256" });
const weak = generateKey("rsa", { modulusLength: 1024 });

const withKey = (privateKey: unknown, algorithm = "ES256") => ({
  client: { id: "a", privateKey, algorithm },
});
const jwksUri = "https://login.example/keys";
const keys = remoteKeys({ jwksUri });
const CLIENT_HINT =
  /^client(?:\.secret)?: is missing or has an invalid value\. Write \{ id, secret, method \} or /;
const KEY_HINT = /^client\.privateKey: can't sign with `client\.algorithm`\. Pass a private key as a PEM/;

it.each<readonly [string, object, RegExp]>([
  ["no url", { url: undefined }, /^url: .* Write an absolute https URL/],
  ["http to another machine", { url: "http://login.example" }, /^url: .*write `https:\/\/`/],
  ["a password in the url", { url: `https://u:${CANARY}@login.example` }, /^url: .*a user or a password/],
  ["no client", { client: undefined }, CLIENT_HINT],
  ["no secret", { client: { id: "a", secret: undefined } }, CLIENT_HINT],
  ["an empty secret", { client: { id: "a", secret: "" } }, CLIENT_HINT],
  ["an unknown method", { client: { ...CLIENT, method: "client_secret_jwt" } }, CLIENT_HINT],
  ["a secret and a key", { client: { ...CLIENT, ...withKey(privateKey).client } }, CLIENT_HINT],
  ["a key without its algorithm", withKey(privateKey, ""), CLIENT_HINT],
  ["a key for another algorithm", withKey(privateKey, "RS256"), KEY_HINT],
  ["an algorithm with a secret", withKey(privateKey, "HS256"), KEY_HINT],
  ["a public key", withKey(createPublicKey(privateKey)), KEY_HINT],
  ["a public JWK", withKey(createPublicKey(privateKey).export({ format: "jwk" })), KEY_HINT],
  ["a weak key", withKey(weak, "RS256"), KEY_HINT],
  ["a string that is not a PEM", withKey(CANARY), KEY_HINT],
  [
    "an option that is misspelled",
    { prefx: "t_" },
    /^prefx: received unknown option `prefx`\. Did you mean `prefix`\?/,
  ],
  ["a misspelled property", { cache: { maxEntires: 1 } }, /^cache\.maxEntires: received unknown option/],
  ["an empty prefix", { prefix: "" }, /^prefix: .* Write the first characters/],
  ["an empty array of prefixes", { prefix: [] }, /^prefix: .* Write the first characters/],
  ["an undefined prefix", { prefix: undefined }, /^prefix: /],
  ["an undefined issuer", { issuer: undefined }, /^issuer: .* Write the `iss`/],
  ["an undefined audience", { audience: undefined }, /^audience: .* Write the expected `aud`/],
  ["an empty array of audiences", { audience: [] }, /^audience: .* Write the expected `aud`/],
  ["prefix and matches", { prefix: "t_", matches: () => true }, /^matches: can't be combined with `prefix`/],
  ["a timeout that is too long", { timeoutMs: 5001 }, /^timeoutMs: .* Write milliseconds from 1 to 5000/],
  ["a limit of no requests", { maxConcurrentRequests: 0 }, /^maxConcurrentRequests: .* 1 to 10000/],
  ["a negative age", { cache: { maxAgeSeconds: -1 } }, /^cache\.maxAgeSeconds: .* 0 to 3600/],
  ["a limit that is undefined", { cache: { maxEntries: undefined } }, /^cache\.maxEntries: .* whole number/],
  ["keys without issuer", { keys }, /^issuer: is missing, but `keys` requires it/],
  [
    "keys of two sources",
    { keys: remoteKeys({ jwksUri, jwks: { keys: [] } } as never), issuer: "i" },
    /^keys\.\w+: can't be combined/,
  ],
  ["mixed algorithms", { keys, issuer: "i", algorithms: ["RS256", "HS256"] }, /^algorithms: contains HS\*/],
])("reports %s", (_, changes, message) => {
  const options = { url: URL, client: CLIENT, ...changes } as unknown as IntrospectionOptions;
  const error = thrownBy(() => introspection(options));
  expect(error.message).toMatch(/^introspection\./);
  expect(error.message.replace("introspection.", "")).toMatch(message);
  expect(error.message).not.toContain(CANARY);
});

it("reports options that are undefined", () => {
  expect(thrownBy(() => introspection(undefined as never)).message).toContain("Write { url, client }.");
});

it("accepts http on this machine", () => {
  expect(introspection({ url: "http://localhost/i", client: CLIENT }).tokenKind).toBe("introspected");
});

it("reports a missing issuer as option_missing", () => {
  const { issues } = thrownBy(() => introspection({ url: URL, client: CLIENT, keys }));
  expect(issues).toMatchObject([{ code: "option_missing", path: ["introspection", "issuer"] }]);
});
