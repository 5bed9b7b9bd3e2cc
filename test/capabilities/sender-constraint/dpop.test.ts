/** What a proof must contain (RFC 9449 section 4), by the way in which it is wrong. */
import { describe, expect, it } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { createResourceServer } from "../../support/server.ts";

const ORIGIN = "https://api.example";
const URL_OF_AGENT = `${ORIGIN}/agents/web`;
const NOW = 1_800_000_000;

const issuer = createTestIssuer({ now: () => NOW * 1000 });
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  scopeMappings: { "GET /agents/:agent_id": [] },
  senderConstraint: { dpop: { origins: [ORIGIN, "https://other.example"], algorithms: ["ES256"] } },
});

type ProofOptions = Partial<Parameters<typeof issuer.proofFor>[0]>;

/** The result for a proof with other options than those of an honest client. */
async function resultFor(options: ProofOptions, target = "/agents/web"): Promise<string> {
  const token = await issuer.token({ bound: "dpop" });
  const proof = await issuer.proofFor({ method: "GET", url: URL_OF_AGENT, token, ...options });
  return resultOf(token, proof, target);
}

async function resultOf(token: string, dpop: string, target = "/agents/web"): Promise<string> {
  const request = { method: "GET", target, authorization: `DPoP ${token}`, headers: { dpop } };
  const decision = await server.check(request);
  return decision.allowed ? "allowed" : (decision.proofRejection ?? decision.reason);
}

describe("the header of a proof", () => {
  it.each(["dpop+jwt", "DPOP+JWT", "application/dpop+jwt"])("accepts the type %s", async (typ) => {
    expect(await resultFor({ header: { typ } })).toBe("allowed");
  });

  it.each([undefined, "", "jwt", "dpop", "dpop+jwt;v=1", ["dpop+jwt"], 5])(
    "rejects it with the type %j",
    async (typ) => {
      expect(await resultFor({ header: { typ } })).toBe("type");
    },
  );

  it.each(["crit", "b64", "jku", "x5u", "x5c"])("rejects it with `%s`", async (name) => {
    expect(await resultFor({ header: { [name]: [] } })).toBe("malformed");
    expect(await resultFor({ header: { [name]: undefined } })).toBe("allowed");
  });

  it.each(["ES384", "RS256", "none", "es256", undefined])("rejects it with the algorithm %s", async (alg) => {
    expect(await resultFor({ header: { alg } })).toBe("algorithm");
  });

  it.each([undefined, null, "key", {}, { kty: "EC" }])("rejects it with the key %j", async (jwk) => {
    expect(await resultFor({ header: { jwk } })).toBe("key");
  });
});

describe("the claims of a proof", () => {
  it.each<[string, unknown, string]>([
    ["htm", "GET", "allowed"],
    ["htm", "get", "htm"],
    ["htm", "POST", "htm"],
    ["htm", undefined, "htm"],
    ["htu", URL_OF_AGENT, "allowed"],
    ["htu", "https://other.example/agents/web?x=1#y", "allowed"],
    ["htu", "HTTPS://API.EXAMPLE:443/agents/./web", "allowed"],
    ["htu", `${ORIGIN}/agents/Web`, "htu"],
    ["htu", `${ORIGIN}/agents/web/`, "htu"],
    ["htu", "https://third.example/agents/web", "htu"],
    ["htu", "/agents/web", "htu"],
    ["htu", [URL_OF_AGENT], "htu"],
    ["htu", undefined, "htu"],
    ["ath", undefined, "ath"],
    ["ath", "", "ath"],
    ["ath", 5, "ath"],
    ["iat", NOW, "allowed"],
    ["iat", NOW - 300, "allowed"],
    ["iat", NOW - 301, "iat"],
    ["iat", NOW + 5, "allowed"],
    ["iat", NOW + 6, "iat"],
    ["iat", NOW + 0.5, "allowed"],
    ["iat", String(NOW), "iat"],
    ["iat", undefined, "iat"],
    ["jti", "a", "allowed"],
    ["jti", "b".repeat(256), "allowed"],
    ["jti", "b".repeat(257), "jti"],
    ["jti", "", "jti"],
    ["jti", 5, "jti"],
    ["jti", undefined, "jti"],
    ["exp", NOW - 1, "claims"],
    ["nbf", NOW + 1, "claims"],
  ])("checks them: `%s` of %j is %s", async (name, value, expected) => {
    expect(await resultFor({ claims: { [name]: value } })).toBe(expected);
  });

  it("compares the path of the request, without its query", async () => {
    expect(await resultFor({}, "/agents/web?a=b")).toBe("allowed");
    expect(await resultFor({}, "/agents/%77eb")).not.toBe("htu");
    expect(await resultFor({}, "/agents/other")).toBe("htu");
  });
});

describe("the form of a proof", () => {
  it("accepts only one JWT of at most 8,192 bytes", async () => {
    const token = await issuer.token({ bound: "dpop" });
    const proofWith = (fill: number) =>
      issuer.proofFor({ method: "GET", url: URL_OF_AGENT, token, claims: { fill: "a".repeat(fill) } });
    const { length } = await proofWith(0);
    const fitting = Math.floor(((8_192 - length) * 3) / 4) - 2;
    const [long, tooLong] = [await proofWith(fitting), await proofWith(fitting + 8)];
    expect(long.length).toBeLessThanOrEqual(8_192);
    expect(tooLong.length).toBeGreaterThan(8_192);
    expect(await resultOf(token, long)).toBe("allowed");
    expect(await resultOf(token, tooLong)).toBe("malformed");
  });

  it.each([
    ["four parts", (proof: string) => `${proof}.a`],
    ["two parts", (proof: string) => proof.replace(/\.[^.]*$/, "")],
    ["padding", (proof: string) => `${proof}=`],
    ["a space", (proof: string) => ` ${proof}`],
    ["an empty payload", (proof: string) => proof.replace(/\..*\./, "..")],
  ])("does not accept it with %s", async (_, change) => {
    const token = await issuer.token({ bound: "dpop" });
    const proof = await issuer.proofFor({ method: "GET", url: URL_OF_AGENT, token });
    expect(await resultOf(token, change(proof))).toBe("malformed");
  });

  it("does not accept it with the signature of another proof", async () => {
    const token = await issuer.token({ bound: "dpop" });
    const create = () => issuer.proofFor({ method: "GET", url: URL_OF_AGENT, token });
    const [first, second] = [await create(), await create()];
    expect(
      await resultOf(token, first.slice(0, first.lastIndexOf(".")) + second.slice(second.lastIndexOf("."))),
    ).toBe("signature");
  });

  it("accepts it with the header of an earlier proof of the same token only", async () => {
    const [token, other] = [await issuer.token({ bound: "dpop" }), await issuer.token({ bound: "dpop" })];
    for (const sentToken of [token, token, other, token]) {
      const proof = await issuer.proofFor({ method: "GET", url: URL_OF_AGENT, token: sentToken });
      expect(await resultOf(sentToken, proof)).toBe("allowed");
    }
  });
});
