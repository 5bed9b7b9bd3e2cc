/** Requests for every reason to refuse one, and the status of the response. */
import type { RefusalReason, Rejection } from "scopegate";
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

type Request = Omit<Case, "name" | "status" | "reason" | "adapter">;

const allowed = (name: string, request: Request): Case => ({ name, status: 200, ...request });

const refused = (status: number, reason: RefusalReason, request: Request, detail = ""): Case => ({
  name: detail === "" ? reason : `${reason}, ${detail}`,
  status,
  reason,
  ...request,
});

const rejected = (rejection: Rejection, credential: string): Case => {
  // Keys without a `kid` are all tried.
  const server = rejection === "key" ? "remote" : "pem";
  return refused(401, "token_rejected", { server, headers: bearer(credential), rejection }, rejection);
};

/** Every request, for each adapter. */
export async function createCases(): Promise<readonly Case[]> {
  const requests = await createRequests();
  return (["fetch", "hono"] as const).flatMap((adapter) =>
    requests.map((request) => ({ ...request, adapter, name: `${adapter}: ${request.name}` })),
  );
}

async function createRequests(): Promise<readonly Case[]> {
  const headers = bearer(await token());
  const basic = ["authorization", "Basic dXNlcjpwYXNz"] as const;
  const shared = bearer(await sharing.token({ scopes: ["items:read"] }));
  const tokens = testRejections.map(async (rejection) =>
    rejected(
      rejection,
      rejection === "too_large" ? "a".repeat(8_193) : await token({ rejectedAs: rejection }),
    ),
  );
  return [
    allowed("a public route", { path: "/open" }),
    allowed("a good token", { headers }),
    allowed("a good token again", { headers }),
    allowed("an HMAC token", { server: "secret", headers: shared }),
    allowed("a key of a remote set", { server: "remote", headers }),
    allowed("a rule that one id is enough for", { path: "/agents", headers }),
    refused(400, "request_ambiguous", { path: "/Open", headers }),
    refused(401, "credential_missing", {}),
    refused(401, "credential_missing", { headers: [basic] }, "another scheme"),
    refused(400, "credential_malformed", { headers: [["authorization", "Bearer a b"]] }),
    refused(400, "credential_malformed", { headers: [...headers, ...headers] }, "several fields"),
    refused(
      400,
      "credential_malformed",
      { headers: [basic, ...headers] },
      "a field of another scheme in front",
    ),
    ...(await Promise.all(tokens)),
    rejected("revoked", await token({ userId: "revoked" })),
    refused(403, "scope_insufficient", { path: "/items/8", headers }),
    refused(403, "scope_insufficient", { path: "/extra/7", headers }, "of requireScopes"),
    refused(403, "route_unmapped", { path: "/unmapped", headers }),
    refused(503, "keys_unavailable", { server: "failing", headers }),
  ];
}
