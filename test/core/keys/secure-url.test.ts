import { describe, expect, it } from "vitest";
import { displayUrl, isLoopbackUrl, isSecureUrl } from "../../../src/core/keys/secure-url.ts";
import { issuesOf } from "../../support/resource-servers.ts";

const secure = [
  "https://issuer.example/jwks",
  "https://issuer.example:8443/jwks?key=a#b",
  "HTTPS://ISSUER.EXAMPLE",
  "https://10.0.0.7/jwks",
];

const local = [
  ...["http://localhost/jwks", "http://LOCALHOST:8080", "http://127.0.0.1:8080/jwks"],
  ...["http://127.255.255.254", "http://127.1/jwks", "http://0x7f.1/jwks", "http://2130706433/jwks"],
  ...["http://[::1]:8080/jwks", "http://[0:0:0:0:0:0:0:1]/jwks"],
];

const insecure = [
  ...["", "//issuer.example/jwks", "https://", "https://issuer example/jwks", "http://issuer.example/jwks"],
  ...["http://10.0.0.7/jwks", "http://0.0.0.0/jwks", "http://[::]/jwks", "http://128.0.0.1/jwks"],
  ...["http://127.0.0.1.issuer.example/jwks", "http://localhost.issuer.example/jwks"],
  ...["http://notlocalhost/jwks", "http://localhost:80@issuer.example/jwks"],
  ...["http://issuer.example#@localhost/", "http://issuer.example\\@localhost/"],
  ...["https://me@issuer.example/jwks", "https://:secret@issuer.example/jwks"],
  ...["http://me:secret@localhost/jwks", "ws://localhost/jwks", "file:///etc/jwks.json", "javascript:0"],
];

describe("a URL to fetch keys from", () => {
  it.each(secure)("allows %j", (url) => {
    expect([isSecureUrl(url), isLoopbackUrl(url)]).toEqual([true, false]);
  });

  it.each(local)("allows loopback: %j", (url) => {
    expect([isSecureUrl(url), isLoopbackUrl(url)]).toEqual([true, true]);
  });

  it.each(insecure)("rejects %j", (url) => {
    expect(isSecureUrl(url)).toBe(false);
    for (const source of [{ jwksUri: url }, { discovery: url }]) {
      const [issue, ...more] = issuesOf({ serviceId: "a", issuer: "https://issuer.example", keys: source });
      expect([issue?.code, issue?.path]).toEqual(["option_invalid", ["keys", ...Object.keys(source)]]);
      expect(JSON.stringify([issue, ...more])).not.toContain("secret");
    }
  });
});

it.each([
  ["https://issuer.example/jwks?key=canary#canary", "https://issuer.example/jwks"],
  ["https://me:canary@issuer.example:8443/jwks", "https://issuer.example:8443/jwks"],
  ["HTTPS://ISSUER.example:443", "https://issuer.example/"],
  [`https://issuer.example/${"a".repeat(400_000)}`, `https://issuer.example/${"a".repeat(977)}`],
  ["https://issuer.example/a\nb", "https://issuer.example/ab"],
])("displays a URL without secrets and cuts it (%#)", (url, shown) => {
  expect(displayUrl(url)).toBe(shown);
});
