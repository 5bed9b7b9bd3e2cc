import { describe, expect, it } from "vitest";
import { refuse, type Refused } from "../../../src/core/policy/decision.ts";
import { createRefusal, createRefuser, type RefusalRules } from "../../../src/core/response/refusal.ts";

const SILENT = { realm: undefined, resourceMetadataUrl: undefined };
const TALKATIVE = { realm: 'the "agents" realm', resourceMetadataUrl: "https://as.example/meta" };

const lacking: Refused = {
  ...refuse("scope_insufficient"),
  required: ["agents:web:read", "custom:write"],
  granted: ["agents:web:read"],
  missing: ["custom:write"],
};

const rejected = (rejection: NonNullable<Refused["rejection"]>) =>
  refuse("token_rejected", [], { rejection });

type Row = readonly [refused: Refused, status: number, title: string, error?: string, scope?: string];

/** The status and the title of each refusal, and the RFC 6750 error and scope of its challenge. */
const table: readonly Row[] = [
  [refuse("request_ambiguous"), 400, "Bad Request", "invalid_request"],
  [refuse("credential_malformed"), 400, "Bad Request", "invalid_request"],
  [rejected("expired"), 401, "Unauthorized", "invalid_token"],
  [rejected("signature"), 401, "Unauthorized", "invalid_token"],
  [refuse("proof_missing"), 401, "Unauthorized", "invalid_token"],
  [refuse("proof_rejected"), 401, "Unauthorized", "invalid_token"],
  [refuse("authentication_insufficient"), 401, "Unauthorized", "insufficient_user_authentication"],
  // RFC 6750 section 3.1: all scopes that the operation needs, not only the missing ones.
  [lacking, 403, "Forbidden", "insufficient_scope", "agents:web:read custom:write"],
  // Another token would not help.
  [refuse("caller_not_allowed"), 403, "Forbidden"],
  [refuse("route_unmapped"), 403, "Forbidden"],
  [refuse("keys_unavailable"), 503, "Service Unavailable"],
];

describe("createRefusal", () => {
  it.each(table.map((row) => [row[0].reason, row[1], row[3], row] as const))(
    "responds to %s with status %s and the error %s in its challenge (RFC 9457, RFC 6750)",
    (reason, status, error, [refused, , title, , scope]) => {
      const { headers, body, problem, ...refusal } = createRefusal(refused, SILENT);
      expect(refusal).toEqual({ status });
      expect(body).toBe(problem);
      const detail = expect.stringMatching(/^[A-Z][^"\\]+\.$/) as string;
      expect(problem).toMatchObject({ type: "about:blank", title, status, code: reason, detail });
      // Only an insufficient token is told the required and the missing scopes.
      expect(Object.keys(problem)).toHaveLength(refused === lacking ? 7 : 5);
      const params = [
        `error="${error ?? ""}"`,
        `error_description="${problem.detail}"`,
        ...(scope === undefined ? [] : [`scope="${scope}"`]),
      ].join(", ");
      const retry = reason === "keys_unavailable" ? { "Retry-After": "5" } : {};
      const plain = { "Content-Type": "application/problem+json", "Cache-Control": "no-store", ...retry };
      const challenge = error === undefined ? {} : { "WWW-Authenticate": `Bearer ${params}` };
      expect(headers).toEqual({ ...plain, ...challenge });
      expect(createRefusal(refused, TALKATIVE).headers["WWW-Authenticate"]).toBe(
        error === undefined
          ? undefined
          : `Bearer realm="the \\"agents\\" realm", ${params}, resource_metadata="https://as.example/meta"`,
      );
    },
  );

  it("omits the error from the challenge for a request without credentials (RFC 6750 section 3.1)", () => {
    const { status, headers } = createRefusal(refuse("credential_missing"), SILENT);
    expect([status, headers["WWW-Authenticate"]]).toEqual([401, "Bearer"]);
    expect(createRefusal(refuse("credential_missing"), TALKATIVE).headers["WWW-Authenticate"]).toBe(
      'Bearer realm="the \\"agents\\" realm", resource_metadata="https://as.example/meta"',
    );
  });

  it("lists the required and missing scopes for an insufficient token, and not the granted ones", () => {
    const { body } = createRefusal({ ...lacking, granted: ["canary:granted"] }, SILENT);
    expect(body).toMatchObject({ required_scopes: lacking.required, missing_scopes: lacking.missing });
    expect(JSON.stringify(body)).not.toContain("canary");
  });

  it("hides a route without a rule as 404 only if the server does, and never an operation", () => {
    const bodyOf = (refused: Refused, unmappedStatus: 403 | 404) =>
      createRefusal(refused, { ...SILENT, unmappedStatus }).body;
    const hidden = { title: "Not Found", status: 404, detail: "There is no such operation." };
    const shown = { title: "Forbidden", status: 403, detail: "No rule allows access to this operation." };
    expect(bodyOf(refuse("route_unmapped"), 404)).toMatchObject(hidden);
    expect(bodyOf(refuse("route_unmapped"), 403)).toMatchObject(shown);
    expect(bodyOf(refuse("route_unmapped", [], { isOperation: true }), 404)).toMatchObject(shown);
    expect(bodyOf(refuse("caller_not_allowed"), 404)).toMatchObject({ status: 403 });
  });

  it.each<readonly [NonNullable<Refused["rejection"]>, string]>([
    ["too_large", "The access token is too large."],
    ["expired", "The access token has expired."],
    ["not_yet_valid", "The access token is not valid yet."],
    ["audience", "The access token is meant for another service."],
    // Not whether the key, the signature or the issuer was wrong.
    ...(["algorithm", "key", "signature", "issuer", "type", "revoked", "claims"] as const).map(
      (rejection) => [rejection, "The access token is not accepted."] as const,
    ),
  ])("reports of a rejected token what the client can fix: %s", (rejection, detail) => {
    expect(createRefusal(rejected(rejection), SILENT).problem.detail).toBe(detail);
  });

  it("sends the Retry-After of the decision", () => {
    const refuser = createRefuser(SILENT);
    for (const retryAfterSeconds of [1, 30]) {
      const refused = refuse("keys_unavailable", [], { retryAfterSeconds });
      expect(refuser(refused).headers["Retry-After"]).toBe(String(retryAfterSeconds));
    }
  });

  it("lists scopes that are too long for the challenge in the body", () => {
    const required = Array.from({ length: 200 }, (_, index) => `agents:${index}:run`);
    const { headers, problem } = createRefusal({ ...lacking, required, missing: required }, SILENT);
    expect(headers["WWW-Authenticate"]).toBe(
      `Bearer error="insufficient_scope", error_description="${problem.detail}"`,
    );
    expect(problem).toMatchObject({ required_scopes: required, missing_scopes: required });
  });

  it("removes a line break of the path from the scopes of the header", () => {
    const refused: Refused = { ...lacking, required: ["agents:a\r\nSet-Cookie: b:read", "custom:write"] };
    expect(createRefusal(refused, SILENT).headers["WWW-Authenticate"]).toMatch(/, scope="custom:write"$/);
  });

  it("omits the principal, the rule and the cause", () => {
    const rule = {
      key: "GET /canary-rule",
      method: "GET",
      pattern: "/canary-rule",
      requirement: [],
      source: "custom",
    } as const;
    const refused: Refused = {
      ...refuse("token_rejected", [rule], { rejection: "claims", cause: new Error("canary-cause") }),
      granted: ["canary:granted"],
      required: ["canary:required"],
      missing: ["canary:missing"],
    };
    expect(JSON.stringify(createRefusal(refused, TALKATIVE))).not.toContain("canary");
  });
});

describe("the fields that a capability adds", () => {
  const fields: RefusalRules["fields"] = {
    challenges: (bearer, { reason }, status) => [
      { ...bearer, realm: `${reason} ${status}` },
      { scheme: "DPoP", algorithms: ["ES256"] },
    ],
    refusalHeaders: undefined,
  };

  it("replace the challenge, where there is one", () => {
    const { headers } = createRefusal(refuse("credential_missing"), { ...SILENT, fields });
    expect(headers["WWW-Authenticate"]).toBe('Bearer realm="credential_missing 401", DPoP algs="ES256"');
    const unmapped = createRefusal(refuse("route_unmapped"), { ...SILENT, fields });
    expect(unmapped.headers).not.toHaveProperty("WWW-Authenticate");
  });

  it("are the header fields of the moment, also of a refusal that is kept", () => {
    let count = 0;
    const refusalHeaders = () => ({ "DPoP-Nonce": `n${(count += 1)}` });
    const refuser = createRefuser({ ...SILENT, fields: { ...fields, refusalHeaders } });
    const refusal = createRefusal(refuse("credential_missing"), { ...SILENT, fields });
    for (const nonce of ["n1", "n2"])
      expect(refuser(refuse("credential_missing"))).toEqual({
        ...refusal,
        headers: { ...refusal.headers, "DPoP-Nonce": nonce },
      });
  });
});

describe("the challenge for a login that is not enough (RFC 9470 section 3)", () => {
  const insufficient = (facts: object) =>
    createRefusal(refuse("authentication_insufficient", [], facts), SILENT).headers["WWW-Authenticate"];

  it.each([
    [{ acrValues: ["urn:a", "urn:b"] }, ', acr_values="urn:a urn:b"'],
    [{ maxAgeSeconds: 0 }, ', max_age="0"'],
    [{ maxAgeSeconds: 60, retained: ["a:b"] }, ', scope="a:b", max_age="60"'],
    [{}, ""],
  ])("contains what the next login needs: %j", (facts, params) => {
    expect(insufficient(facts)).toBe(
      `Bearer error="insufficient_user_authentication", error_description="The user must log in again, recently or more strongly, for this operation."${params}`,
    );
  });

  it("creates it anew for each refusal", () => {
    const refuser = createRefuser(SILENT);
    const challengeFor = (maxAgeSeconds: number) =>
      refuser(refuse("authentication_insufficient", [], { maxAgeSeconds })).headers["WWW-Authenticate"];
    expect([60, 120].map(challengeFor).map((text) => /max_age="\d+"/.exec(text ?? "")?.[0])).toEqual([
      'max_age="60"',
      'max_age="120"',
    ]);
  });
});

describe("the scopes of a challenge", () => {
  it.each(["agents:<agent_id>:run", "<a>:b", "a:<b>", "a:<>:b"])(
    "do not contain %s, which no client can request",
    (scope) => {
      const refused = { ...lacking, required: [scope, "custom:write"] };
      expect(createRefusal(refused, SILENT).headers["WWW-Authenticate"]).toMatch(/ scope="custom:write"$/);
    },
  );

  it("names the first scopes of an MCP client in a 401, and adds retained ones in a 403", () => {
    const rules = { ...SILENT, initialScopes: ["a:b", "c:d"] };
    const scopeOf = (refused: Refused) =>
      / scope="([^"]*)"/.exec(createRefusal(refused, rules).headers["WWW-Authenticate"] ?? "")?.[1];
    expect(scopeOf(refuse("credential_missing"))).toBe("a:b c:d");
    expect(scopeOf(refuse("token_rejected"))).toBe("a:b c:d");
    expect(scopeOf({ ...lacking, retained: ["e:f", "custom:write"] })).toBe(
      "agents:web:read custom:write e:f",
    );
  });
});

describe("createRefuser", () => {
  it.each([...table.map(([refused]) => refused), rejected("audience")])(
    "returns what createRefusal returns: %j",
    (refused) => {
      const answer = createRefuser(TALKATIVE);
      for (let turn = 0; turn < 2; turn += 1)
        expect(answer(refused)).toEqual(createRefusal(refused, TALKATIVE));
    },
  );

  it("shares one frozen refusal between requests if it depends only on the reason", () => {
    const answer = createRefuser(SILENT);
    const { headers, body } = answer(rejected("expired"));
    expect(answer(rejected("expired")).body).toBe(body);
    expect(answer(rejected("signature")).body).not.toBe(body);
    expect(Object.isFrozen(body) && Object.isFrozen(headers)).toBe(true);
  });

  it("creates a new refusal if it contains scopes", () => {
    const answer = createRefuser(SILENT);
    answer(lacking);
    const other = { ...lacking, required: ["teams:read"], missing: ["teams:read"] };
    expect(answer(other).body).toMatchObject({ required_scopes: ["teams:read"] });
  });

  it.each([
    [
      "a promise",
      Promise.resolve(lacking),
      "refuse received a promise. Write server.refuse(await server.check(request)).",
    ],
    [
      "an allowed decision",
      { allowed: true },
      "refuse received a value that isn't a refused decision. Write if (!decision.allowed) server.refuse(decision).",
    ],
  ])("throws for %s from untyped code, with the code to write", (_, given, message) => {
    expect(() => createRefuser(SILENT)(given as unknown as Refused)).toThrow(new TypeError(message));
  });
});
