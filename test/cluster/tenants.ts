/** Two processes with the issuers of tenants in Redis, and an oracle that knows when each issuer was there. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";
import { openOpenIdProvider, type OpenIdProvider, RESOURCE } from "../support/openid-provider.ts";
import { passing, type Tally } from "./service.ts";

/** The hash with one record for each issuer. */
export const RECORDS = "trust-records";

export interface IssuerRow {
  readonly tenant: string;
}

export interface TenantSettings {
  readonly port: number;
  readonly freshSeconds: number;
  readonly audience: string;
}

const FRESH_SECONDS = 1;
/** How much later than `freshSeconds` a change may have an effect: a round trip on a busy machine. */
const ROUND_TRIP_MS = 300;
const TOKENS = 20;
const PROGRAM = fileURLToPath(new URL("tenant-member.ts", import.meta.url));

interface TenantMember {
  readonly url: string;
  /** How often `find` was called. */
  readonly questions: () => Promise<number>;
  readonly stop: () => Promise<unknown>;
}

async function startTenantMember(port: number): Promise<TenantMember> {
  const settings: TenantSettings = { port, freshSeconds: FRESH_SECONDS, audience: RESOURCE };
  const child = fork(PROGRAM, [JSON.stringify(settings)], {
    ...LONG_CHILD_LIMIT,
    execArgv: ["--import", "tsx"],
  });
  const [started] = (await once(child, "message")) as [{ readonly port: number }];
  return {
    url: `http://127.0.0.1:${started.port}`,
    async questions() {
      child.send("questions");
      const [answer] = (await once(child, "message")) as [{ readonly questions: number }];
      return answer.questions;
    },
    stop() {
      child.kill("SIGKILL");
      return once(child, "exit");
    },
  };
}

/** A tenant with its own provider. */
export interface Tenant {
  readonly name: string;
  readonly provider: OpenIdProvider;
  readonly tokens: readonly string[];
  /** When its record was written or removed, and whether it's there. */
  change: { readonly isThere: boolean; readonly at: number };
  /** Whether its record is being written or removed: until then, both responses are right. */
  isChanging: boolean;
}

async function createTenant(name: string): Promise<Tenant> {
  const provider = await openOpenIdProvider();
  const tokens = await Promise.all(
    Array.from({ length: TOKENS }, () => provider.token({ scope: "orgs:read" })),
  );
  return { name, provider, tokens, change: { isThere: false, at: -Infinity }, isChanging: false };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Changes the issuer of a token, whose signature is then wrong. */
function withIssuer(token: string, iss: string): string {
  const [header, payload = "", signature] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  const changed = Buffer.from(JSON.stringify({ ...claims, iss })).toString("base64url");
  return [header, changed, signature].join(".");
}

export async function startTenants(port: number, names: readonly string[]) {
  const redis = new Redis(port);
  const members = await Promise.all([startTenantMember(port), startTenantMember(port)]);
  const tenants = await Promise.all(names.map(createTenant));
  const tally: Tally = { wronglyAccepted: 0, wronglyRefused: 0, latestMs: 0, unavailable: 0, requests: 0 };
  let isRunning = true;

  async function ask({ url }: TenantMember, tenant: Tenant): Promise<void> {
    const { change, isChanging } = tenant;
    const token = tenant.tokens[Math.floor(Math.random() * tenant.tokens.length)] ?? "";
    const sentAt = performance.now();
    const response = await fetch(`${url}/orgs/${tenant.name}`, bearer(token));
    await response.arrayBuffer();
    const { status } = response;
    tally.requests += 1;
    if (status >= 500) tally.unavailable += 1;
    if (isChanging || tenant.isChanging || change !== tenant.change) return;
    const sinceMs = sentAt - change.at;
    const isLate = sinceMs > FRESH_SECONDS * 1_000 + ROUND_TRIP_MS;
    if (change.isThere && status !== 200 && isLate) tally.wronglyRefused += 1;
    if (change.isThere || status !== 200) return;
    if (isLate) tally.wronglyAccepted += 1;
    tally.latestMs = Math.max(tally.latestMs, sinceMs);
  }

  async function change(tenant: Tenant, isThere: boolean): Promise<void> {
    tenant.isChanging = true;
    const { issuer } = tenant.provider;
    if (isThere) await redis.hset(RECORDS, issuer, JSON.stringify({ tenant: tenant.name }));
    else await redis.hdel(RECORDS, issuer);
    tenant.change = { isThere, at: performance.now() };
    tenant.isChanging = false;
  }

  const run = async (start: number): Promise<void> => {
    for (let turn = start; isRunning; turn += 1) {
      const member = members[turn % members.length];
      const tenant = tenants[Math.floor(Math.random() * tenants.length)];
      if (member && tenant) await ask(member, tenant);
    }
  };
  for (const tenant of tenants) await change(tenant, true);
  const running = [0, 1, 2, 3].map(run);

  return {
    members,
    tenants,
    tally,
    change,
    /** Waits until a change has had its effect everywhere. */
    settle: () => passing(FRESH_SECONDS * 1_000 + ROUND_TRIP_MS + 200),
    /** Opens a stream of each process, and returns what each of them sends until it ends. */
    openStreams: ({ name, tokens: [token = ""] }: Tenant) =>
      members.map(async ({ url }) => {
        const response = await fetch(`${url}/orgs/${name}/stream`, bearer(token));
        return response.text();
      }),
    /** Sends tokens of as many issuers that nobody knows. */
    async flood(count: number): Promise<readonly number[]> {
      const [token = ""] = tenants[0]?.tokens ?? [];
      const statuses: number[] = [];
      for (let index = 0; index < count; index += 1)
        for (const { url } of members) {
          const forged = withIssuer(token, `https://login-${index}.example`);
          const response = await fetch(`${url}/orgs/a`, bearer(forged));
          await response.arrayBuffer();
          statuses.push(response.status);
        }
      return statuses;
    },
    async stop() {
      isRunning = false;
      await Promise.all(running);
      await Promise.all(members.map((member) => member.stop()));
      await Promise.all(tenants.map(({ provider }) => provider.close()));
      redis.disconnect();
    },
  };
}
