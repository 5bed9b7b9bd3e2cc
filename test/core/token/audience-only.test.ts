/** `audienceOnly`: a token for two services can't be passed on from one to the other. */
import { describe, expect, it } from "vitest";
import { introspection } from "scopegate/introspection";
import { createTestIssuer } from "scopegate/testing";
import { mistakesOf, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const issuer = createTestIssuer({ audience: "agents" });
const { keys, algorithm } = issuer.resourceServerOptions;
const base = { keys, algorithm, audience: ["agents", "agents-v2"] };

const verdict = async (audience: readonly string[] | string, options: object = { audienceOnly: true }) =>
  verdictOf(createResourceServer({ ...base, ...options }), await issuer.token({ audience }));

describe("audienceOnly", () => {
  it.each(["agents", ["agents"], ["agents", "agents-v2"]])("accepts a token for %j", async (audience) =>
    expect(await verdict(audience)).toBe("accepted"),
  );

  it.each([
    ["agents", "billing"],
    ["billing", "agents-v2"],
    ["agents", ""],
    ["agents", "Agents"],
  ])(
    "rejects a token whose aud also names a service that isn't in `audience`: %j, %j",
    async (...audience) => {
      expect(await verdict(audience)).toBe("audience");
      expect(await verdict(audience, {})).toBe("accepted");
    },
  );

  it("rejects a token for other services only, as without it", async () =>
    expect(await verdict(["billing"])).toBe("audience"));

  it("applies to the issuer that sets it", async () => {
    const issuers = [{ ...issuer.trustedIssuer, audience: "agents", audienceOnly: true }];
    const server = createResourceServer({ issuers });
    expect(await verdictOf(server, await issuer.token({ audience: ["agents", "billing"] }))).toBe("audience");
  });

  it("applies to introspected tokens", async () => {
    const fetch = () =>
      Promise.resolve(
        Response.json({ active: true, token_type: "Bearer", scope: "", aud: ["agents", "billing"] }),
      );
    const client = { id: "c", secret: "s" };
    const opaqueTokens = [introspection({ url: "https://login.example/introspect", client, fetch })];
    for (const audienceOnly of [true, false]) {
      const server = createResourceServer({ ...base, audienceOnly, opaqueTokens });
      expect(await verdictOf(server, "opaque")).toBe(audienceOnly ? "audience" : "accepted");
      await server.close();
    }
  });

  it("needs an audience", () => {
    const { audience: _, ...without } = base;
    const mistakes = (options: object) => mistakesOf(() => createResourceServer(options));
    expect(mistakes({ ...without, verifyAudience: false, audienceOnly: true })).toEqual([
      ["option_conflict", "audienceOnly"],
    ]);
    expect(mistakes({ ...without, audienceOnly: true })).toEqual([["option_missing", "serviceId"]]);
    expect(mistakes({ ...base, audienceOnly: "yes" })).toEqual([["option_invalid", "audienceOnly"]]);
  });
});
