/** Requests for every reason to refuse one, and the status of the response. */
import { type RefusalReason, type Rejection } from "scopegate";
import { createTestIssuer, testRejections, type TestTokenOptions } from "scopegate/testing";

const common = { audience: "agents-prod", issuer: "https://issuer.example" };

export const issuer = createTestIssuer({ ...common, algorithm: "RS256" });

/** An issuer that shares a secret with the application. */
export const sharing = createTestIssuer({ ...common, algorithm: "HS256" });

export interface Case {
  readonly name: string;
  readonly adapter?: "fetch" | "hono";
  readonly server?: "pem" | "secret" | "remote" | "failing";
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly status: number;
  /** For a refusal. */
  readonly reason?: RefusalReason;
  readonly rejection?: Rejection;
}

const bearer = (token: string): readonly (readonly [string, string])[] => [
  ["authorization", `Bearer ${token}`],
];

const token = (options: TestTokenOptions = {}): Promise<string> =>
  issuer.token({ scopes: ["items:7:read", "agents:read"], ...options });

const rejected = (rejection: Rejection, credential: string): Case => ({
  name: `token_rejected, ${rejection}`,
  // Keys without a `kid` are all tried.
  server: rejection === "key" ? "remote" : "pem",
  headers: bearer(credential),
  status: 401,
  reason: "token_rejected",
  rejection,
});

/** Every request, for each adapter. */
export async function createCases(): Promise<readonly Case[]> {
  const requests = await createRequests();
  return (["fetch", "hono"] as const).flatMap((adapter) =>
    requests.map((one) => ({ ...one, adapter, name: `${adapter}: ${one.name}` })),
  );
}

async function createRequests(): Promise<readonly Case[]> {
  const good = await token();
  return [
    { name: "a public route", path: "/open", status: 200 },
    { name: "a good token", headers: bearer(good), status: 200 },
    { name: "a good token again", headers: bearer(good), status: 200 },
    {
      name: "an HMAC token",
      server: "secret",
      headers: bearer(await sharing.token({ scopes: ["items:read"] })),
      status: 200,
    },
    { name: "a key of a remote set", server: "remote", headers: bearer(good), status: 200 },
    { name: "a filtered rule", path: "/agents", headers: bearer(good), status: 200 },
    {
      name: "request_ambiguous",
      path: "/Open",
      headers: bearer(good),
      status: 400,
      reason: "request_ambiguous",
    },
    { name: "credential_missing", status: 401, reason: "credential_missing" },
    {
      name: "credential_missing, another scheme",
      headers: [["authorization", "Basic dXNlcjpwYXNz"]],
      status: 401,
      reason: "credential_missing",
    },
    {
      name: "credential_malformed",
      headers: [["authorization", "Bearer a b"]],
      status: 400,
      reason: "credential_malformed",
    },
    {
      name: "credential_malformed, several fields",
      headers: [...bearer(good), ...bearer(good)],
      status: 400,
      reason: "credential_malformed",
    },
    {
      name: "credential_malformed, a field of another scheme in front",
      headers: [["authorization", "Basic dXNlcjpwYXNz"], ...bearer(good)],
      status: 400,
      reason: "credential_malformed",
    },
    ...(await Promise.all(
      testRejections.map(async (one) =>
        rejected(one, one === "too_large" ? "a".repeat(8_193) : await token({ rejectedAs: one })),
      ),
    )),
    rejected("revoked", await token({ userId: "revoked" })),
    {
      name: "scope_insufficient",
      path: "/items/8",
      headers: bearer(good),
      status: 403,
      reason: "scope_insufficient",
    },
    {
      name: "scope_insufficient of requireScopes",
      path: "/extra/7",
      headers: bearer(good),
      status: 403,
      reason: "scope_insufficient",
    },
    {
      name: "route_unmapped",
      path: "/unmapped",
      headers: bearer(good),
      status: 403,
      reason: "route_unmapped",
    },
    {
      name: "keys_unavailable",
      server: "failing",
      headers: bearer(good),
      status: 503,
      reason: "keys_unavailable",
    },
  ];
}
