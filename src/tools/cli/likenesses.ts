/** The claims and header fields that the tokens of well-known issuers have, for development. */

/** A kind of tokens. */
export interface Likeness {
  /** For `--help`. */
  readonly text: string;
  readonly header?: Readonly<Record<string, unknown>>;
  /** `now` is in seconds since the epoch. */
  readonly claims: (userId: string, now: number) => Readonly<Record<string, unknown>>;
  /** The options that a server needs for such tokens, as in a configuration file. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** Taken from the documentation of each issuer. No value belongs to a real user. */
export const LIKENESSES: Readonly<Record<string, Likeness>> = {
  "cloudflare-access": {
    text: "an application token of Cloudflare Access",
    claims: (userId, now) => ({
      type: "app",
      identity_nonce: "example",
      country: "NL",
      email: `${userId}@example.com`,
      nbf: now,
    }),
    configuration: {
      token_sources: [{ header: "cf-access-jwt-assertion", scheme: null }],
      required_claims: { type: "app" },
    },
  },
  "github-actions": {
    text: "a token of a GitHub Actions workflow, whose user is the workflow",
    claims: (userId) => ({
      sub: userId.startsWith("repo:") ? userId : `repo:example/${userId}:ref:refs/heads/main`,
      repository_owner: "example",
      event_name: "push",
      ref: "refs/heads/main",
    }),
    configuration: {
      issuer: "https://token.actions.githubusercontent.com",
      scope_sources: [
        { claim: "sub", map: { "repo:example/shop:ref:refs/heads/main": ["deployments:write"] } },
      ],
    },
  },
  "google-iap": {
    text: "an assertion of Google Identity-Aware Proxy",
    claims: (userId) => ({
      email: `${userId}@example.com`,
      hd: "example.com",
      google: { access_levels: ["accessPolicies/1/accessLevels/office"] },
    }),
    configuration: {
      token_sources: [{ header: "x-goog-iap-jwt-assertion", scheme: null }],
      algorithm: "ES256",
      issuer: "https://cloud.google.com/iap",
    },
  },
  "transaction-token": {
    text: "a Transaction Token, which services pass on inside one trust domain",
    header: { typ: "txntoken+jwt" },
    claims: (userId) => ({ txn: "97053963-771d-49cc-a4e3-20aad399c312", req_wl: "gateway", sub: userId }),
    configuration: {
      token_sources: [{ header: "txn-token", scheme: null }],
      token_types: ["txntoken+jwt"],
      scopes_claim: "scope",
    },
  },
  "spiffe-jwt-svid": {
    text: "a JWT-SVID of SPIFFE, whose user is a workload",
    claims: (userId) => ({ sub: userId.startsWith("spiffe://") ? userId : `spiffe://example.org/${userId}` }),
    configuration: { keys: { jwks_file: "bundle.json", use: "jwt-svid" }, required_claims: ["exp"] },
  },
};
