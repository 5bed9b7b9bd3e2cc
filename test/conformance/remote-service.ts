/** The service of the conformance suite, with keys that it fetches and a clock that tests move on. */
import { onTestFinished } from "vitest";
import {
  createResourceServer,
  type KeyEvent,
  type Rejection,
  type ResourceServer,
  type ResourceServerOptions,
} from "scopegate";
import { type Answer, ask, type Asked } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import { type OpenIdProvider, RESOURCE } from "../support/openid-provider.ts";
import type { Application } from "./applications.ts";
import { mounted, policy, routes } from "./service.ts";

/** In milliseconds. All of them together are shorter than a token of the provider lives. */
export const TIMES = { maxAgeMs: 60_000, staleMs: 60_000, cooldownMs: 10_000 };

/** What `GET /agents/web` asks. */
export const SCOPE = "agents:web:read";

/** An issuer that signs whatever it is told to. */
const partner = createIssuer({ kid: "partner-key" });

/** A token as the provider issues them, but for these claims and the partner's signature. */
export const forge = (claims: Readonly<Record<string, unknown>>): Promise<string> =>
  partner.token({ aud: RESOURCE, scope: SCOPE, scopes: undefined, ...claims }, { typ: "at+jwt" });

/** How often a provider was asked for what a server needs. */
export const readingsOf = ({ asked }: OpenIdProvider) => ({
  metadata: asked("/.well-known/openid-configuration"),
  keys: asked("/jwks"),
});

/** Keys and rules of a provider, as options of a server or as one of its `issuers`. */
export const trust = (issuer: string) => ({
  issuer,
  keys: { discovery: true, ...TIMES } as const,
  algorithms: ["RS256"] as const,
  audience: RESOURCE,
  scopesClaim: "scope",
});

export interface RemoteService {
  readonly server: ResourceServer;
  /** The handlers that ran. */
  readonly ran: readonly string[];
  readonly ask: (asked: Asked) => Promise<Answer>;
  /** What `GET path` with this token comes to: the status, or why the token was rejected. */
  readonly verdict: (token: string, path?: string) => Promise<number | Rejection>;
  /** What was told of the keys since the last call. */
  readonly events: () => readonly KeyEvent[];
  /** Moves the clock of the server on. */
  readonly advance: (ms: number) => void;
}

/** Starts the service; it ends with the test. */
export async function startRemote(
  application: Application,
  options: Partial<ResourceServerOptions>,
): Promise<RemoteService> {
  let offset = 0;
  const told: KeyEvent[] = [];
  let rejection: Rejection | undefined;
  const server = createResourceServer({
    scopeMappings: policy,
    tokenTypes: ["at+jwt"],
    now: () => Date.now() + offset,
    onKeyEvent: (event) => told.push(event),
    onDecision: (decision) => {
      rejection = decision.allowed ? undefined : decision.rejection;
    },
    ...options,
  });
  const { port, ran, close } = await application.start({ server, routes, mounted });
  onTestFinished(async () => {
    await server.close();
    await close();
  });
  return {
    server,
    ran,
    ask: (asked) => ask(port, asked),
    verdict: async (token, path = "/agents/web") => {
      const { status } = await ask(port, { path, token });
      return rejection && status === 401 ? rejection : status;
    },
    events: () => told.splice(0),
    advance: (ms) => (offset += ms),
  };
}
