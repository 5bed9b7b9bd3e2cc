import { describe, expect, it } from "vitest";
import { createIssuer } from "../support/issuer.ts";
import { createServer, issuer, issuesOf, verdictOf } from "../support/resource-servers.ts";

const other = createIssuer({ kid: "other" });
const third = createIssuer({ kid: "third" });
const anonymous = (own: typeof other) => own.token({}, { kid: undefined });

describe("verificationKeys", () => {
  it("are tried in turn until one fits", async () => {
    const server = createServer({ verificationKeys: [issuer.publicPem, other.publicPem] });
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await anonymous(other))).toBe("accepted");
    expect(await verdictOf(server, await anonymous(third))).toBe("signature");
  });

  it("may hold a key twice, and keys of several kinds", async () => {
    const server = createServer({
      verificationKeys: [issuer.publicPem, issuer.publicKey, issuer.publicJwk, other.publicJwk],
    });
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await other.token())).toBe("accepted");
  });

  it("are chosen by the kid where one of them has it: the others are not tried", async () => {
    const server = createServer({ verificationKeys: [issuer.publicPem, other.publicJwk, third.publicJwk] });
    expect(await verdictOf(server, await third.token({}, { kid: "other" }))).toBe("signature");
    expect(await verdictOf(server, await issuer.token({}, { kid: "other" }))).toBe("signature");
    expect(await verdictOf(server, await issuer.token({}, { kid: "unknown" }))).toBe("accepted");
    expect(await verdictOf(server, await third.token({}, { kid: "unknown" }))).toBe("signature");
  });

  it("stop at the first one that fits: what is wrong with the claims then is final", async () => {
    const server = createServer({ verificationKeys: [issuer.publicPem, other.publicPem] });
    expect(await verdictOf(server, await issuer.token({ exp: 1 }))).toBe("expired");
    expect(await verdictOf(server, await issuer.token({ aud: "other" }))).toBe("audience");
  });

  it("mean the same inside keys", async () => {
    const server = createServer({ keys: { verificationKeys: [issuer.publicPem] } });
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(issuesOf({ serviceId: "a", keys: { verificationKeys: ["x"] } })).toMatchObject([
      { code: "key_invalid", path: ["keys", "verificationKeys", 0] },
    ]);
  });

  it("are all reported when they are wrong", () => {
    const wrong = ["x", issuer.publicPem, "y", issuer.privateKey];
    expect(issuesOf({ serviceId: "a", verificationKeys: wrong })).toMatchObject([
      { code: "key_invalid", path: ["verificationKeys", 0] },
      { code: "key_invalid", path: ["verificationKeys", 2] },
      { code: "key_private", path: ["verificationKeys", 3] },
    ]);
  });

  it("are none to be left empty", () => {
    for (const [options, path] of [
      [{ verificationKeys: [] }, ["verificationKeys"]],
      [{ keys: { verificationKeys: [] } }, ["keys", "verificationKeys"]],
    ] as const) {
      expect(issuesOf({ serviceId: "a", ...options })).toMatchObject([
        { code: "option_invalid", path, hint: "Pass at least one key." },
      ]);
    }
  });
});
