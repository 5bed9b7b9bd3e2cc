/** The `iss` of a token is compared exactly, and the issuer that it selects verifies the token. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TokenRejectedError } from "scopegate";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import { BACKEND, CONTROL, ENTRIES, PARTNER, type Signer, signedBy } from "./signers.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const server = createServer({
  issuers: [ENTRIES.control, ENTRIES.backend, ENTRIES.partner],
});

/** A payload with these properties in this order, without escaping or filtering. */
const payloadOf = (...members: readonly string[]): string =>
  `{${[...members, '"aud":"agents-prod"', '"scopes":[]'].join(",")}}`;

const IS_CONTROL = `"iss":${JSON.stringify(CONTROL.iss)}`;
const IS_BACKEND = `"iss":${JSON.stringify(BACKEND.iss)}`;

describe("the iss of a token", () => {
  it.each([
    ["the configured issuer", CONTROL.iss, "accepted"],
    ["the URL with a trailing slash", `${CONTROL.iss}/`, "issuer"],
    ["the host in capitals", "https://CONTROL.example", "issuer"],
    ["another scheme", "http://control.example", "issuer"],
    ["a trailing NUL", `${CONTROL.iss}\0`, "issuer"],
    ["a zero-width space", "https://control\u200B.example", "issuer"],
    ["a Cyrillic o", "https://c\u043Entrol.example", "issuer"],
    ["empty", "", "issuer"],
    ["__proto__", "__proto__", "issuer"],
    ["constructor", "constructor", "issuer"],
  ])("requires an exact match: %s", async (_, iss, verdict) => {
    const claims = { iss, aud: "agents-prod" };
    expect(await verdictOf(server, signedBy(CONTROL, { claims }))).toBe(verdict);
  });

  it.each([
    ["absent", payloadOf(), "issuer"],
    ["null", payloadOf('"iss":null'), "issuer"],
    ["an object with a toString property", payloadOf(`"iss":{"toString":"${CONTROL.iss}"}`), "issuer"],
    ["an array", payloadOf(`"iss":["${CONTROL.iss}"]`), "issuer"],
    ["under a name in capitals", payloadOf(`"ISS":"${CONTROL.iss}"`), "issuer"],
    ["inside another claim", payloadOf(`"act":{${IS_CONTROL}}`), "issuer"],
    ["inside __proto__", payloadOf(`"__proto__":{${IS_CONTROL}}`), "issuer"],
    ["present twice with another value last", payloadOf(IS_CONTROL, IS_BACKEND), "malformed"],
    ["present twice with another value first", payloadOf(IS_BACKEND, IS_CONTROL), "malformed"],
    [
      "present twice, once escaped",
      payloadOf(IS_CONTROL, IS_BACKEND.replace("iss", "\\u0069ss")),
      "malformed",
    ],
    ["present at both ends", `{${IS_BACKEND},"aud":"agents-prod","scopes":[],${IS_CONTROL}}`, "malformed"],
    ["written with an escape in its name", payloadOf(IS_CONTROL.replace("iss", "\\u0069ss")), "accepted"],
    [
      "written with an escape in its value",
      payloadOf(IS_CONTROL.replace("control", "c\\u006fntrol")),
      "accepted",
    ],
    ["the issuer of another key", payloadOf(IS_BACKEND), "algorithm"],
    ["in a payload of null", "null", "malformed"],
    [
      "in a payload that is deep",
      payloadOf(IS_CONTROL, `"x":${"[".repeat(5e3)}${"]".repeat(5e3)}`),
      "accepted",
    ],
  ])("requires a single string in a valid payload: %s", async (_, payload, verdict) => {
    expect(await verdictOf(server, signedBy(CONTROL, { payload }))).toBe(verdict);
  });

  it("ignores the header", async () => {
    const header = { iss: CONTROL.iss };
    const token = signedBy(CONTROL, { header, payload: payloadOf() });
    expect(await verdictOf(server, token)).toBe("issuer");
    const other = signedBy(CONTROL, { header, payload: payloadOf(IS_BACKEND) });
    expect(await verdictOf(server, other)).toBe("algorithm");
  });

  it("requires the issuer that signed the token, for any payload", async () => {
    const signers: readonly Signer[] = [CONTROL, BACKEND, PARTNER];
    const name = fc.constantFrom("iss", "\\u0069ss", "i\\u0073s", "ISS", "__proto__", "issuer", "sub");
    const value = fc
      .constantFrom(...signers.map(({ iss }) => iss))
      .chain((iss) =>
        fc.constantFrom(
          `"${iss}"`,
          `"${iss.replace("t", "\\u0074")}"`,
          `["${iss}"]`,
          `{"iss":"${iss}"}`,
          `"${iss}/"`,
        ),
      );
    const member = fc.tuple(name, value).map(([key, text]) => `"${key}":${text}`);
    const members = fc.array(member, { maxLength: 3 });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...signers), members, async (signer, claimMembers) => {
        try {
          const { issuer } = await server.authenticate(
            signedBy(signer, { payload: payloadOf(...claimMembers) }),
          );
          expect(issuer).toBe(signer.iss);
          accepted += 1;
        } catch (error) {
          if (!(error instanceof TokenRejectedError)) throw error;
        }
      }),
      { numRuns: 500, examples: [[CONTROL, [IS_CONTROL]]] },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});

describe("a polluted prototype", () => {
  const polluted = {
    iss: CONTROL.iss,
    issuer: CONTROL.iss,
    verify: () => Promise.resolve({ kind: "verified", claims: {} }),
    keys: ENTRIES.control.keys,
    verifyAudience: false,
    "https://stranger.example": {},
  };
  it.each([
    ["no issuer", CONTROL, payloadOf(), "issuer"],
    ["an unknown issuer", CONTROL, payloadOf('"iss":"https://stranger.example"'), "issuer"],
    ["the issuer of another", BACKEND, payloadOf(IS_CONTROL), "algorithm"],
    ["another audience", CONTROL, payloadOf(IS_CONTROL).replace("agents-prod", "other"), "audience"],
  ])("accepts no token with %s", async (_, signer, payload, verdict) => {
    const token = signedBy(signer, { payload });
    expect(await withPollution(polluted, () => verdictOf(server, token))).toBe(verdict);
  });
});
