import type { Rejection } from "../../../core/errors.ts";
import type { Decision, Refused } from "../../../core/policy/decision.ts";
import { explainDecision, explanationRow } from "../../../capabilities/explain/explain.ts";
import { explain as explainRequest } from "../../../capabilities/explain/index.ts";
import { splitOperation } from "../../../capabilities/mcp-operations/operation-key.ts";
import { isHousekeeping, MCP_METHODS } from "../../../capabilities/mcp-operations/operation-methods.ts";
import { isPattern, parsePattern } from "../../../core/policy/parse-pattern.ts";
import { ComparablePath, comparableRoute } from "../../../core/policy/route-comparison.ts";
import { appliesTo, renderRules } from "../../../core/policy/rule.ts";
import { pipelineOf } from "../../../core/port.ts";
import { describeExpected } from "../../../core/refusal-log.ts";
import { OPERATION_METHOD, readPath } from "../../../core/request.ts";
import type { ResourceServer } from "../../../core/resource-server.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { printable, withoutTokens } from "../../../core/runtime/printable.ts";
import { readRoute, type TestRequest } from "../../testing/check.ts";
import { requireGrantable } from "../../testing/mistakes.ts";
import { authorizationOf } from "../../../core/token/credential.ts";
import { issuersOf } from "../../shared/issuers.ts";
import { readJsonSegment } from "../../../core/token/jwt-parts.ts";
import { quote } from "../arguments.ts";
import {
  type Command,
  readClaims,
  readPairs,
  readScopes,
  requireStandardInput,
  UsageError,
} from "../command.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

export const explain: Command = {
  name: "explain",
  summary: "Explain how a request would be decided.",
  words: ["METHOD", "PATH"],
  options: {
    ...POLICY_OPTIONS,
    scope: {
      value: "SCOPE",
      isRepeatable: true,
      isEmptyAllowed: true,
      text: 'a scope of the caller; "" for a token without scopes. Default: no token',
    },
    token: {
      value: "-",
      text: "read a token from standard input, and check it with the configured keys",
    },
    route: {
      value: "PATTERN",
      text: "the route that the framework matched, such as /agents/:id. Default: only the path decides",
    },
    claim: {
      value: "NAME=VALUE",
      isRepeatable: true,
      text: "a claim of the caller, for conditions; the value is JSON or a string. Needs --scope",
    },
    tenant: { value: "ID", text: "the tenant of the caller's issuer, for conditions. Needs --scope" },
    arg: { value: "NAME=VALUE", isRepeatable: true, text: "an argument of an MCP operation" },
  },
  examples: [
    [
      "POST /agents/web/runs --config scopegate.json --scope agents:web:run",
      "Checks a caller with one scope against the table of a configuration.",
    ],
    [
      "GET /agents/web --config scopegate.json --token -",
      "Explains why a token is accepted or rejected.",
      "token.txt",
    ],
    [
      "GET /Agents/web --config scopegate.json --route /agents/:agent_id --scope agents:web:read",
      "Explains a path that the framework matches although its case differs from the table.",
    ],
    [
      "GET /orgs/acme --config scopegate.json --scope orgs:read --claim org_id=globex",
      "Checks whether the conditions of the table allow a caller.",
    ],
    [
      'MCP "tools/call search" --config scopegate.json --arg agent_id=web --scope agents:web:run',
      "Explains an operation of an MCP server.",
    ],
  ],
  async run(input) {
    const isToken = input.has("token");
    const route = input.text("route");
    const [request, scopes, claims, params, { server }] = await input.all(
      () => readRequest(input.words),
      () => {
        const values = readScopes(input);
        requireGrantable("explain", values);
        return values;
      },
      () => readClaims(input),
      () => readPairs(input, "arg"),
      () => readPolicy(input, isToken),
      () => {
        if (isToken && ["scope", "claim", "tenant"].some((name) => input.has(name)))
          throw new UsageError("--token can't be combined with --scope, --claim and --tenant.");
        const dependent = ["claim", "tenant"].find((name) => input.has(name));
        if (dependent !== undefined && !input.has("scope"))
          throw new UsageError(`--${dependent} needs --scope: write --scope "" for a token without scopes.`);
        requireStandardInput(input);
      },
      () => {
        if (route === undefined) return;
        if (input.words[0] === OPERATION_METHOD) throw new UsageError("--route can't be combined with MCP.");
        if (!isPattern(parsePattern(route)))
          throw new UsageError("--route takes the pattern of a route: write --route '/agents/:id'.");
      },
    );
    const { method, target: path } = request;
    const tenant = input.text("tenant");
    const caller = input.has("scope") ? { scopes, claims, ...compact({ tenant }) } : {};
    const query = { method, path, params, matchedPattern: route, ...caller };
    const tokenText = isToken ? (await input.io.read()).trim().replace(/^(?:bearer|dpop) +/i, "") : "";
    const authorization = authorizationOf(tokenText);
    const sent = { ...request, params, matchedPattern: route };
    const decision = isToken
      ? await server.check({ ...sent, authorization })
      : explainRequest(server, query).decision;
    // With --app, the server belongs to the application.
    if (input.has("config")) await server.close();
    const response = describeResponse(server, decision, tokenText);
    const claimNames = isToken ? Object.keys(segmentOf(tokenText, 1)).sort() : undefined;
    const row = (name: string, value: string) => explanationRow(name, value.slice(0, 500));
    const text = [
      explainDecision(query, decision, pipelineOf(server).policy.find(sent, false)).text,
      ...(response ? [row("response", `${response.status} ${response.detail}`)] : []),
      ...(response?.because ?? []).map((cause) => row("because", cause)),
      ...(response?.found ? [row("found", response.found)] : []),
      ...(claimNames ? [row("claims", claimNames.join(" ") || "-")] : []),
    ].join("\n");
    const isAmbiguous = !decision.allowed && decision.reason === "request_ambiguous";
    // No route makes a path readable.
    const isPathOnly = route === undefined && method !== OPERATION_METHOD && readPath(path) !== undefined;
    return {
      isFinding: !decision.allowed,
      data: { ...query, ...toData(decision), ...response, claims: claimNames },
      text: isPathOnly && isAmbiguous ? `${text}\n${row("route", PATH_ONLY)}` : text,
      ...compact({
        note: isPathOnly
          ? `Without --route: ${PATH_ONLY}${addedByRoute(server, request, decision)}`
          : undefined,
      }),
    };
  },
};

/** Reads the request. An operation is one that a client sends, and not every one is the key of a rule. */
function readRequest([method = "", target = ""]: readonly string[]): TestRequest {
  const called = method === OPERATION_METHOD ? splitOperation(target).method : "";
  if (isHousekeeping(called))
    throw new UsageError(
      `\`${called}\` needs no rule of its own: the rule for the path of the MCP server decides it. Write scopegate explain POST /mcp.`,
    );
  // The server decides a name that is missing, and the methods that other rules govern.
  return MCP_METHODS.isNamed(called) ? { method, target } : readRoute("explain", `${method} ${target}`);
}

/** Names further rules whose routes could match the path. */
function addedByRoute(server: ResourceServer, { method, target }: TestRequest, { rules }: Decision): string {
  const path = readPath(target);
  const compared = path && new ComparablePath(path);
  const added = pipelineOf(server).policy.rules.rules.filter(
    ({ rule, pattern }) =>
      appliesTo(rule, method) &&
      !rules.includes(rule) &&
      pattern.alternatives.some(({ segments }) => compared?.compareWith(comparableRoute(segments))),
  );
  const [first] = added;
  if (!first) return "";
  return ` With --route ${quote(first.rule.pattern)}, ${renderRules(added.map(({ rule }) => rule))} would be added.`;
}

const PATH_ONLY =
  "only the path decides, and a path in another spelling is refused. With --route PATTERN, the rule for the route that the framework matched must be satisfied too, and other spellings of the path are allowed.";

/** Returns the response to a refusal, and what was wrong with a rejected token. */
function describeResponse(server: ResourceServer, decision: Decision, token: string) {
  if (decision.allowed) return undefined;
  const { status, problem } = server.refuse(decision);
  const isRejected = /^(?:token_rejected|keys_unavailable)$/.test(decision.reason);
  const because = isRejected
    ? [
        decision.claim === undefined ? [] : describeClaim(decision.claim),
        describeExpected(decision, issuersOf(server)),
      ].flat(2)
    : [];
  return { status, detail: problem.detail, because, found: describeFound(decision, token) };
}

const describeClaim = (claim: string): string =>
  claim === "cnf"
    ? "the claim cnf binds the token to a key of its client, which the server can't check: see the option senderConstraint"
    : `the claim ${claim} is missing or has a wrong value`;

/** The claimed values that a rejection is about. Other values may be personal data. */
const REJECTED: Partial<Record<Rejection, { readonly header?: string; readonly claims?: string }>> = {
  algorithm: { header: "alg" },
  key: { header: "kid alg" },
  signature: { header: "kid alg" },
  type: { header: "typ" },
  issuer: { claims: "iss" },
  audience: { claims: "aud" },
  expired: { claims: "exp iat" },
  not_yet_valid: { claims: "nbf iat" },
};

/** Returns what a rejected JWT has instead of the expected value. It isn't verified. */
function describeFound({ rejection, claimed }: Refused, token: string): string | undefined {
  const { header, claims } = (claimed && rejection && REJECTED[rejection]) ?? {};
  const names = header ?? claims;
  if (names === undefined) return undefined;
  const values = segmentOf(token, header === undefined ? 1 : 0);
  const shown = names.split(" ").map((name) => `${name}: ${describeValue(name, values[name])}`);
  return printable(withoutTokens(shown.join(", ")));
}

function describeValue(name: string, value: unknown): string {
  if (value === undefined) return "none";
  const date = new Date(/^(?:exp|iat|nbf)$/.test(name) ? Number(value) * 1000 : NaN);
  return JSON.stringify(value) + (Number.isNaN(date.getTime()) ? "" : ` (${date.toISOString()})`);
}

const segmentOf = (token: string, index: 0 | 1) => readJsonSegment(token.split(".")[index] ?? "") ?? {};

/** Removes the principal, the claims of the token, and the errors of key sources. */
function toData(decision: Decision): object {
  const isHidden = (name: string, value: unknown) =>
    /^(?:principal|claimed)$/.test(name) || (name === "cause" && typeof value !== "string");
  const show = (name: string, value: unknown) => (isHidden(name, value) ? undefined : value);
  return JSON.parse(JSON.stringify(decision, show)) as object;
}
