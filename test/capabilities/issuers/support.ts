/** Servers whose issuers are found at run time, with a clock that tests control and a record of questions. */
import { onTestFinished, vi } from "vitest";
import { createResourceServer, type Decision, type ResourceServerOptions } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { type FindIssuer, issuersFrom, type IssuersFromOptions, type TrustRecord } from "scopegate/issuers";
import { createTestIssuer, type TestIssuer } from "scopegate/testing";

export const START = 1_700_000_000_000;

export interface Tenant {
  readonly name: string;
  readonly issuer: TestIssuer;
  readonly record: TrustRecord;
}

/** An issuer of a tenant with its own key, all with the same `kid`. */
export function createTenant(name: string, record: Partial<TrustRecord> = {}): Tenant {
  const issuer = createTestIssuer({
    issuer: `https://login.${name}.example`,
    audience: "agents-prod",
    kid: "key-1",
    now: () => START,
  });
  return {
    name,
    issuer,
    record: { ...issuer.trustedIssuer, tenant: name, scopes: ["orgs:read"], ...record },
  };
}

export const TABLE = {
  "* /orgs/:org{/*path}": { scopes: ["orgs:read"], where: { org: { tenant: true } } },
} as const;

interface Finding extends IssuersFromOptions {
  readonly find?: FindIssuer;
  readonly options?: Partial<ResourceServerOptions>;
}

/** Creates a server with the records of these tenants, which tests may change. */
export function createFinding(tenants: readonly Tenant[], { find, options, ...settings }: Finding = {}) {
  let now = START;
  const records = new Map(tenants.map(({ record }) => [record.issuer, record]));
  const asked = vi.fn<FindIssuer>(find ?? ((issuer) => Promise.resolve(records.get(issuer))));
  const server = createResourceServer({
    serviceId: "agents-prod",
    now: () => now,
    issuers: issuersFrom(asked, settings),
    scopeMappings: TABLE,
    conditions: callerConditions(),
    ...options,
  });
  onTestFinished(() => server.close());
  const check = (token: string, target = "/orgs/acme"): Promise<Decision> =>
    server.check({ method: "GET", target, authorization: `Bearer ${token}` });
  const answer = async (token: string, target?: string): Promise<string> => {
    const decision = await check(token, target);
    if (decision.allowed) return "200";
    const { reason, rejection } = decision;
    return [server.refuse(decision).status, rejection ?? reason].join(" ");
  };
  return { server, records, asked, check, answer, pass: (seconds: number) => void (now += seconds * 1000) };
}

/** Collects the warnings of this package until the end of the test. */
export function collectWarnings(): readonly string[] {
  const warnings: string[] = [];
  const spy = vi
    .spyOn(process, "emitWarning")
    .mockImplementation((warning) => void warnings.push(String(warning)));
  onTestFinished(() => spy.mockRestore());
  return warnings;
}
