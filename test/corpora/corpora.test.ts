/** Runs the corpora against the library, as another implementation would: through public functions only. */
import { describe, expect, it } from "vitest";
import { type Allowed, type Decision, parseConfiguration, type Refused, type ResourceServer, TokenRejectedError } from "scopegate/complete";
import { opaqueTokens } from "../../src/capabilities/opaque/index.ts";
import { compact } from "../../src/core/runtime/compact.ts";
import { readPage } from "../documentation/markdown.ts";
import { issuer } from "../support/resource-servers.ts";
import { createResourceServer, type ResourceServerOptions } from "../support/server.ts";
import { committedCorpus, currentCorpora } from "./corpora.ts";
import { type Corpora, type CorpusToken, type DecisionCase, FORMATS, type HeaderCase } from "./format.ts";

const ADVICE = "The lists of test/corpora changed. Run `npm run corpora` and review the difference.";

const paths = committedCorpus("paths");
const headers = committedCorpus("headers");
const tokens = committedCorpus("tokens");
const decisions = committedCorpus("decisions");

const current = currentCorpora(tokens.cases);

/** An opaque token with these claims is accepted, so that a test needs no signature. */
const accepting = (verify: (token: string) => Record<string, unknown> | undefined): ResourceServerOptions => ({
  opaqueTokens: [
    opaqueTokens({
      tokenKind: "introspected",
      scopesClaim: "scopes",
      matches: () => true,
      verify: (token) => {
        const claims = verify(token);
        return claims ? { kind: "verified", claims } : { kind: "rejected", rejection: "malformed" };
      },
    }),
  ],
});

function serverOf(configuration: object, options: ResourceServerOptions = {}): ResourceServer {
  const defaults = { verify_audience: false, default_scope_mappings: {} };
  return createResourceServer({
    verificationKeys: [issuer.publicPem],
    ...parseConfiguration(JSON.stringify({ ...defaults, ...configuration })),
    ...options,
  });
}

/** Compares what a case says about a decision, and nothing else. */
const named = <Value extends object>(value: Value, names: object): Partial<Value> =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name in names)) as Partial<Value>;

describe.each(Object.keys(FORMATS) as (keyof Corpora)[])("the corpus %s", (name) => {
  it("follows the documented format", () => {
    expect(FORMATS[name].parse(committedCorpus(name))).toEqual(committedCorpus(name));
  });

  it("equals the lists that it is written from", () => {
    expect(current[name], ADVICE).toEqual(committedCorpus(name));
  });
});

describe("corpora/README.md", () => {
  const cases: readonly unknown[] = [
    ...[...paths.cases, ...headers.cases, ...tokens.cases],
    ...decisions.tables.flatMap(({ cases }) => cases),
  ];
  const { blocks } = readPage("corpora/README.md");

  it.each(blocks)("shows a case of a corpus in line $line", ({ code }) => {
    expect(cases).toContainEqual(JSON.parse(code));
  });
});

describe("the corpus of paths", () => {
  /** Allows a path of this many segments if each is the claim of the caller at its place. */
  function checkSegments(target: string, segments: readonly string[]): Promise<Decision> {
    const texts = segments.filter((segment) => segment !== "").map((text) => decodeURIComponent(text));
    const names = texts.map((_, index) => `p${index}`);
    const pattern = `/${names.map((name) => `:${name}`).join("/")}`;
    const where = Object.fromEntries(names.map((name) => [name, { claim: name }]));
    const requirement = names.length > 0 ? { scopes: [], where } : [];
    const claims = { scopes: [], ...Object.fromEntries(texts.map((text, index) => [`p${index}`, text])) };
    const server = serverOf(
      { scope_mappings: { [`GET ${pattern}`]: requirement } },
      accepting(() => claims),
    );
    return server.check({ method: "GET", target, authorization: "Bearer t", matchedPattern: pattern });
  }

  const accepted = paths.cases.filter((row) => row.result === "accepted");
  const ambiguous = paths.cases.filter((row) => row.result === "ambiguous");

  it.each(accepted)("reads it as these segments: $target", async ({ target, segments }) => {
    const decision = await checkSegments(target, segments);
    expect([decision.allowed, (decision as Refused).reason]).toEqual([true, undefined]);
    if (segments.some((segment) => segment !== "")) {
      const [first = "", ...others] = segments;
      const other = await checkSegments(target, [`${first}x`, ...others]);
      expect(other.allowed).toBe(false);
    }
  });

  it.each(ambiguous)("refuses it because of $why: $target", async ({ target }) => {
    const server = serverOf({ scope_mappings: { "* /{*path}": "public" } });
    const decision = await server.check({ method: "GET", target });
    expect((decision as Refused).reason).toBe("request_ambiguous");
  });
});

describe("the corpus of headers", () => {
  const BOUND = { scopes: [], cnf: { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } };

  async function readHeaders({ configuration, headers: fields }: HeaderCase): Promise<unknown> {
    const sent: string[] = [];
    const server = serverOf(
      { ...headers.configurations[configuration], scope_mappings: { "GET /a": [] } },
      accepting((token) => {
        sent.push(token);
        return token === "bound" ? BOUND : undefined;
      }),
    );
    const { authorization, cookie, ...others } = fields;
    const request = { method: "GET", target: "/a", authorization, cookie, headers: others };
    const decision = (await server.check(request)) as Refused;
    switch (decision.reason) {
      case "credential_missing":
        return { result: "missing" };
      case "credential_malformed":
        return { result: "malformed" };
      case "proof_missing":
        return { result: "proof_missing" };
      case "proof_rejected":
        return { result: `proof_${decision.proofRejection}` };
      default:
        return { result: "credential", token: sent.join(), scheme: decision.scheme ?? "Bearer" };
    }
  }

  it.each(headers.cases.map((row) => [row.result, row.configuration, row.headers, row] as const))(
    "reads it as %s with the configuration %s: %j",
    async (_result, _configuration, _headers, row) => {
      const { configuration: _name, headers: _fields, ...expected } = row;
      expect(await readHeaders(row)).toEqual(expected);
    },
  );
});

describe("the corpus of tokens", () => {
  async function verify({ configuration, keys, token }: CorpusToken): Promise<unknown> {
    const server = createResourceServer({
      ...parseConfiguration(
        JSON.stringify({
          ...tokens.configuration,
          ...(keys && { verification_keys: keys.map((name) => tokens.test_keys[name]) }),
          ...configuration,
        }),
      ),
      now: () => tokens.now * 1000,
    });
    try {
      const { userId: user_id, scopes, audience } = await server.authenticate(token);
      return { result: "accepted", principal: compact({ user_id, scopes, audience }) };
    } catch (error) {
      if (error instanceof TokenRejectedError) return { result: "rejected", rejection: error.rejection };
      throw error;
    }
  }

  it.each(tokens.cases)("gets the expected result: $name", async (row) => {
    expect(await verify(row)).toEqual(named(row, { result: 1, principal: 1, rejection: 1 }));
  });
});

describe("the corpus of decisions", () => {
  const rows = decisions.tables.flatMap(({ name, configuration, cases }) =>
    cases.map((row) => [name, `${row.method} ${row.target}`, row.claims, configuration, row] as const),
  );

  it.each(rows)("decides as expected: %s, %s, %j", async (_name, _request, _claims, configuration, row) => {
    const server = serverOf(
      configuration,
      accepting(() => row.claims ?? undefined),
    );
    const { method, target, matched_pattern: matchedPattern, upgrade, claims } = row;
    const authorization = claims ? "Bearer t" : undefined;
    const decision = await server.check({ method, target, matchedPattern, upgrade, authorization });
    const { method: _m, target: _t, matched_pattern: _p, upgrade: _u, claims: _c, ...expected } = row;
    expect(named(outcomeOf(server, decision), expected)).toEqual(expected);
    // What `check` decides for a caller, `authorize` decides too, without a route that runs.
    if (decision.principal && matchedPattern === undefined && !upgrade) {
      const authorized = server.authorize(decision.principal, method, target);
      expect(named(outcomeOf(server, authorized), expected)).toEqual(expected);
    }
  });

  function outcomeOf(server: ResourceServer, decision: Allowed | Refused): Omit<DecisionCase, "claims"> {
    const { allowed, rule, required, missing } = decision;
    const facts = { allowed, rule: rule?.key ?? null, required: [...required], missing: [...missing] };
    const refused = decision.allowed ? {} : { reason: decision.reason, status: server.refuse(decision).status };
    return { ...facts, ...refused } as never;
  }
});
