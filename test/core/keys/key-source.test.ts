import { describe, expect, it } from "vitest";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, issuer, issuesOf, verdictOf } from "../../support/resource-servers.ts";

const other = createIssuer({ kid: "other" });
const third = createIssuer({ kid: "third" });

describe("verificationKeys", () => {
  it("accepts duplicate keys and several forms of keys", async () => {
    const server = createServer({
      verificationKeys: [issuer.publicPem, issuer.publicKey, issuer.publicJwk, other.publicJwk],
    });
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await other.token())).toBe("accepted");
  });

  it("tries only the keys with the kid of the token if there are any", async () => {
    const server = createServer({ verificationKeys: [issuer.publicPem, other.publicJwk, third.publicJwk] });
    expect(await verdictOf(server, await third.token({}, { kid: "other" }))).toBe("signature");
    expect(await verdictOf(server, await issuer.token({}, { kid: "other" }))).toBe("signature");
    expect(await verdictOf(server, await issuer.token({}, { kid: "unknown" }))).toBe("accepted");
    expect(await verdictOf(server, await third.token({}, { kid: "unknown" }))).toBe("signature");
  });

  it("aren't an option of `keys`", () => {
    expect(issuesOf({ serviceId: "a", keys: { verificationKeys: [issuer.publicPem] } })).toMatchObject([
      {
        code: "option_unknown",
        path: ["keys", "verificationKeys"],
        hint: expect.stringContaining("instead of `keys`") as string,
      },
    ]);
  });

  it("reports every wrong key", () => {
    const wrong = ["x", issuer.publicPem, "y", issuer.privateKey];
    expect(issuesOf({ serviceId: "a", verificationKeys: wrong })).toMatchObject([
      { code: "key_invalid", path: ["verificationKeys", 0] },
      { code: "key_invalid", path: ["verificationKeys", 2] },
      { code: "key_private", path: ["verificationKeys", 3] },
    ]);
  });
});
