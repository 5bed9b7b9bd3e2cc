import { KeysUnavailableError } from "../errors.ts";
import type { KeySourceStatus } from "../keys/key-event.ts";
import type { KeyResolver } from "../keys/verification-key.ts";
import { createCeiling } from "../scopes/ceiling.ts";
import { claimAt } from "./claim-path.ts";
import type {
  IssuerConfiguration,
  IssuerDirectory,
  IssuerVerifier,
  ResolvedIssuers,
  SharedRules,
} from "./issuer-directory.ts";
import { type JwtParts, readJsonBytes } from "./jwt-parts.ts";
import type { Principal } from "./principal.ts";
import { rejectToken } from "./rejection.ts";
import { createTokenVerifier } from "./verifier.ts";

/** All issuers whose tokens are accepted. */
export type Issuers = ReturnType<typeof createIssuers>;

/**
 * Creates the verifier of one issuer. `isFound` says that the issuer isn't in the options: such an issuer
 * never grants the admin scope.
 */
export function createIssuerVerifier(
  { keys, token, principal, ceiling }: IssuerConfiguration,
  shared: SharedRules,
  isFound = false,
): IssuerVerifier {
  const limitScopes = ceiling && createCeiling(ceiling, shared.scopeRules, !isFound);
  // A copy, because the caller may change an array of the options later.
  const rules = { ...structuredClone(principal), ...shared, limitScopes };
  return { kind: "verifier", keys, verify: createTokenVerifier(token, keys), principal: rules };
}

/**
 * Combines the issuers of a server. With `selectByIssuer`, the unverified `iss` of a token selects an issuer.
 * Its verifier then checks the whole token, including `iss`, so its keys can't sign tokens of another issuer.
 */
export function createIssuers(
  configurations: readonly IssuerConfiguration[],
  selectByIssuer: boolean,
  shared: SharedRules,
  directory?: IssuerDirectory,
) {
  const verifiers = configurations.map((configuration) => createIssuerVerifier(configuration, shared));
  const [firstVerifier] = verifiers;
  const byIssuer = new Map(configurations.map(({ token }, index) => [token.issuer, verifiers[index]]));
  const all = () => (directory ? directory.configurations() : configurations);
  return {
    /** Returns the verifier for a token, or the reason why no issuer accepts it. */
    verifierFor(jwt: JwtParts): ReturnType<IssuerDirectory["find"]> {
      if (firstVerifier && !selectByIssuer) return firstVerifier;
      const claims = readJsonBytes(jwt.payload);
      if (!claims) return rejectToken("malformed");
      const issuer = claimAt(claims, "iss");
      if (typeof issuer !== "string") return rejectToken("issuer");
      return directory?.find(issuer) ?? byIssuer.get(issuer) ?? rejectToken("issuer");
    },
    /** Nothing is fetched for issuers that are found: nobody knows all of them. */
    ready: (needsAll = false) => loadAll(configurations, (keys) => keys.ready(), needsAll),
    refresh: () => loadAll(all(), (keys) => keys.refresh(), true),
    status: (): readonly KeySourceStatus[] => [
      ...(directory ? [directory.status()] : []),
      ...all().map(({ keys, token: { issuer } }) =>
        issuer === undefined ? keys.status() : { issuer, ...keys.status() },
      ),
    ],
    close() {
      directory?.close();
      for (const { keys } of configurations) keys.close();
    },
  };
}

/**
 * Finds the configuration of the issuer of a JWT. A single issuer may be configured without a name.
 * `undefined` for an unknown issuer, and for other tokens.
 */
export function configurationFor(
  principal: Principal,
  { configurations, directory }: ResolvedIssuers,
): IssuerConfiguration | undefined {
  if (principal.tokenKind) return undefined;
  if (directory) return directory.configurationOf(principal);
  return configurations.length === 1
    ? configurations[0]
    : configurations.find(({ token }) => token.issuer === principal.issuer);
}

/** How many key sources are loaded at the same time. */
const MAX_LOADS = 16;

/**
 * Loads the keys of issuers, and lists those that fail in one error. Without `needsAll`, it's enough if one
 * source that has to be fetched works.
 */
async function loadAll(
  issuers: readonly IssuerConfiguration[],
  load: (keys: KeyResolver) => Promise<void>,
  needsAll: boolean,
): Promise<void> {
  const errors = new Map<IssuerConfiguration, unknown>();
  // The loops share one iterator, so that each takes the next issuer.
  const pending = issuers.values();
  const loadNext = async (): Promise<void> => {
    for (const issuer of pending)
      await load(issuer.keys).catch((error: unknown) => void errors.set(issuer, error));
  };
  await Promise.all(Array.from({ length: MAX_LOADS }, loadNext));
  const works = issuers.some((issuer) => !errors.has(issuer) && isFetched(issuer));
  if (errors.size === 0 || (works && !needsAll)) return;
  const failed = issuers.filter((issuer) => errors.has(issuer));
  const messages = failed.map((issuer) => {
    const error = errors.get(issuer);
    const message = error instanceof Error ? error.message : "failed.";
    return issuer.token.issuer === undefined ? message : `${issuer.token.issuer}: ${message}`;
  });
  const cause = new AggregateError(failed.map((issuer) => errors.get(issuer)));
  throw new KeysUnavailableError(cause, ["Keys are unavailable.", ...messages].join(" "));
}

const isFetched = ({ keys }: IssuerConfiguration): boolean => /^https?:/.test(keys.status().source);
