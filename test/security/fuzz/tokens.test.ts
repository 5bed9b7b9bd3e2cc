/** Random credentials: mutations of valid ones, and noise. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMalformed, readCredential, resolveTokenSources } from "../../../src/core/token/credential.ts";
import { readJwt } from "../../../src/core/token/jwt-parts.ts";
import { encode, forge } from "../tokens/forge.ts";
import { mutated, noise } from "./mutations.ts";
import { fuzzRuns } from "./runs.ts";

const TOKEN = forge();

const runs = { numRuns: fuzzRuns() };

describe("readCredential", () => {
  const authorization = mutated(
    [`Bearer ${TOKEN}`, "Bearer a.b.c", "bearer x", "Basic dXNlcjpwYXNz", 'Digest username="a", realm="b"'],
    [" ", "\t", ",", "Bearer ", "bearer", "=", "==", ".", "\r\n", "\0", "Basic ", '"', "é", ";"],
  );
  const cookie = mutated(
    [`access_token=${TOKEN}`, "a=b; access_token=x; c=d", "access_token=", "access_token=x; access_token=y"],
    [";", "=", " ", "access_token=", "ACCESS_TOKEN=", ",", '"', "\t", "\0"],
  );
  const fields = fc.oneof(authorization, fc.array(authorization, { maxLength: 3 }), fc.constant(undefined));
  const limit = fc.constantFrom(1, 8, 100, 16_384);

  it("returns one token as it was sent or the reason why not, and never throws", () => {
    fc.assert(
      fc.property(fields, fc.option(cookie, { nil: undefined }), limit, (header, jar, maxTokenBytes) => {
        const tokenSources = [{ header: "authorization" }, { cookie: "access_token" }] as const;
        const request = { method: "GET", target: "/", authorization: header, cookie: jar };
        const credential = readCredential(request, {
          tokenSources: resolveTokenSources(tokenSources, "DPoP"),
          maxTokenBytes,
          multipleCredentials: "refuse",
        });
        if (credential.kind !== "token")
          return ["missing", "malformed", "too_large"].includes(credential.kind);
        const { token } = credential;
        expect(token.length).toBeGreaterThan(0);
        expect(token.length).toBeLessThanOrEqual(maxTokenBytes);
        const [field, ...more] = header === undefined ? [] : [header].flat();
        const isOfHeader = field !== undefined && /^bearer /i.test(field);
        if (isOfHeader) {
          // It is the only field, and only the scheme and spaces precede the token.
          expect(more).toEqual([]);
          expect(field.replace(/^bearer +/i, "")).toBe(token);
          expect(isMalformed(credential)).toBe(!/^[\w\-.~+/]+=*$/.test(token));
        } else {
          const named = (jar ?? "").split(";").filter((pair) => /^\s*access_token\s*=/.test(pair));
          expect(
            named.map((pair) =>
              pair
                .replace(/^[^=]*=/, "")
                .trim()
                .replace(/^"(.*)"$/, "$1"),
            ),
          ).toEqual([token]);
        }
        return true;
      }),
      runs,
    );
  });
});

describe("readJwt", () => {
  const json = fc.json({ maxDepth: 3 });
  const member = fc.constantFrom(
    '"kid":"a"',
    '"typ":"JWT"',
    '"crit":[]',
    '"alg":"none"',
    '"b64":true',
    '"x":{}',
    '"kid":5',
  );
  const header = fc
    .array(member, { maxLength: 3 })
    .map((members) => `{${['"alg":"RS256"', ...members].join(",")}}`);
  const segment = fc.oneof(header, json, noise).map((text) => encode(text));
  const tokens = fc.oneof(
    mutated([TOKEN], [".", "=", "A", "-", "+", " ", "\n", "%2e", "é", encode('{"alg":"none"}')]),
    fc.array(segment, { maxLength: 5 }).map((segments) => segments.join(".")),
    noise,
  );

  it("accepts one spelling of three parts with an unambiguous header, and never throws", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        const read = readJwt(token);
        if (read.kind === "rejected") return ["malformed", "algorithm"].includes(read.rejection);
        const segments = token.split(".");
        expect(segments).toHaveLength(3);
        for (const encoded of segments) expect(encode(Buffer.from(encoded, "base64url"))).toBe(encoded);
        const text = Buffer.from(segments[0] ?? "", "base64url").toString("utf8");
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const [alg, kid, typ] = ["alg", "kid", "typ"].map((name) =>
          Object.hasOwn(parsed, name) ? parsed[name] : undefined,
        );
        expect(read.jwt).toStrictEqual({
          encoded: token,
          header: { alg, kid, type: typeof typ === "string" ? typ.toLowerCase() : undefined },
          payload: Buffer.from(segments[1] ?? "", "base64url"),
        });
        expect(parsed).not.toHaveProperty("crit");
        expect(text.match(/"alg"/g)).toHaveLength(1);
        return true;
      }),
      runs,
    );
  });
});
