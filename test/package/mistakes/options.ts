/**
 * Options and rules with wrong names or values must not compile. `npm run check` compiles these files with the
 * sources, and `npm run test:package` with the types of the packed package.
 */
import { createResourceServer as createPlainServer } from "scopegate";
import {
  agentScopeMappings,
  createResourceServer,
  hasScopes,
  mergeScopeMappings,
  type ScopeMappings,
} from "scopegate/complete";
import { remoteKeys } from "scopegate/keys";

// Names
// @ts-expect-error -- a misspelt option would have no effect
createResourceServer({ scopeMapping: {} });
// @ts-expect-error -- the JSON name of `anyOf`
createResourceServer({ scopeMappings: { "GET /agents": { any_of: ["agents:read"] } } });
createResourceServer({
  // @ts-expect-error -- `jwksUri` belongs in `keys`
  issuers: [{ issuer: "a", jwksUri: "https://a.example/keys", algorithms: ["RS256"] }],
});

// Keys and algorithms
// @ts-expect-error -- an unsigned token proves nothing
createResourceServer({ algorithm: "none" });
// @ts-expect-error -- names of algorithms are case-sensitive
createResourceServer({ algorithm: "rs256" });
// @ts-expect-error -- several algorithms are an array
createResourceServer({ algorithms: "RS256" });
// @ts-expect-error -- no list contains `none`
createResourceServer({ algorithms: ["RS256", "none"] });
// @ts-expect-error -- keys are an array
createResourceServer({ verificationKeys: "-----BEGIN PUBLIC KEY-----" });
// @ts-expect-error -- a key source is an object
createResourceServer({ keys: "https://issuer.example/keys" });
// @ts-expect-error -- a key source has one URL
createResourceServer({ keys: remoteKeys({ jwksUri: ["https://issuer.example/keys"] }) });
// @ts-expect-error -- a key source names its keys
createResourceServer({ keys: {} });

// Issuers and audiences
// @ts-expect-error -- several issuers belong in `issuers`, each with its keys
createResourceServer({ issuer: ["https://issuer.example"] });
// @ts-expect-error -- every issuer has its own keys
createResourceServer({ issuers: ["https://issuer.example"] });
createResourceServer({
  // @ts-expect-error -- a key does not determine the algorithm
  issuers: [{ issuer: "https://issuer.example", keys: remoteKeys({ discovery: true }) }],
});
// @ts-expect-error -- the string "false" is true
createResourceServer({ verifyAudience: "false" });
// @ts-expect-error -- an environment variable may be missing
createResourceServer({ serviceId: undefined });
// @ts-expect-error -- required claims are an array or an object
createResourceServer({ requiredClaims: "exp" });
// @ts-expect-error -- accepted types are an array
createResourceServer({ tokenTypes: "at+jwt" });

// Keys of the table
// @ts-expect-error -- methods are in upper case
createResourceServer({ scopeMappings: { "get /agents": [] } });
// @ts-expect-error -- no request has this method
createResourceServer({ scopeMappings: { "GTE /agents": [] } });
// @ts-expect-error -- a key has a method
createResourceServer({ scopeMappings: { "/agents": [] } });
// @ts-expect-error -- a path starts with a slash
createResourceServer({ defaultScopeMappings: { "GET agents": [] } });
// @ts-expect-error -- the name of an option isn't a key
createResourceServer({ shadow: { scopeMappings: { unmappedRoutes: "deny" } } });
// @ts-expect-error -- `satisfies` checks keys too
export const misspelled = { "GET: /agents": [] } satisfies ScopeMappings;

// These tables compile.
const literal = {
  ...agentScopeMappings,
  "* /health": "public",
  "MCP tools/list": [],
} satisfies ScopeMappings;
createResourceServer({ scopeMappings: { ...literal, "M-SEARCH /a": { scopes: [] } } });
const built: Record<keyof ScopeMappings, ScopeMappings[keyof ScopeMappings]> = { ...literal };
for (const name of ["agents", "teams"]) {
  const key: keyof ScopeMappings = `GET /${name}/health`;
  built[key] = "public";
}
createResourceServer({ scopeMappings: built });
const computed = { [`GET /${"agents".toLowerCase()}`]: ["agents:read"] };
createResourceServer({ scopeMappings: { ...computed, ...Object.fromEntries(Object.entries(built)) } });
/** The type of a JSON module. */
const imported: { "GET /agents": string[]; "GET /either": { anyOf: string[] } } = {
  "GET /agents": ["agents:read"],
  "GET /either": { anyOf: ["a:read", "b:read"] },
};
createResourceServer({ scopeMappings: imported });

// Values of the table
// @ts-expect-error -- a string is a keyword; scopes are an array
createResourceServer({ scopeMappings: { "GET /agents": "agents:read" } });
// @ts-expect-error -- keywords are in lower case
createResourceServer({ scopeMappings: { "GET /agents": "Public" } });
// @ts-expect-error -- a rule says what the caller needs
createResourceServer({ scopeMappings: { "GET /agents": true } });
// @ts-expect-error -- a rule without a requirement could be read as public
createResourceServer({ scopeMappings: { "GET /agents": null } });
// @ts-expect-error -- alternatives are an array
createResourceServer({ scopeMappings: { "GET /agents": { anyOf: "agents:read" } } });
// @ts-expect-error -- `filtered` became `<any>`
createResourceServer({ scopeMappings: { "GET /agents": { filtered: ["agents:read"] } } });
// @ts-expect-error -- an override has a value of rules
createResourceServer({ scopeMappings: { "GET /agents": { override: "none" } } });
// @ts-expect-error -- conditions are added to scopes
createResourceServer({ scopeMappings: { "GET /agents": { where: { org: { claim: "org_id" } } } } });
// @ts-expect-error -- a condition names its claim
createResourceServer({ scopeMappings: { "GET /agents": { scopes: [], where: { org: "org_id" } } } });
// @ts-expect-error -- values of `acr` are alternatives
createResourceServer({ scopeMappings: { "GET /agents": { scopes: [], acr: "urn:example:mfa" } } });
// @ts-expect-error -- actors are alternatives
createResourceServer({ scopeMappings: { "GET /agents": { scopes: [], actors: ["agent-1"] } } });
// @ts-expect-error -- a rule cannot switch off a constraint
createResourceServer({ scopeMappings: { "GET /agents": { scopes: [], senderConstrained: false } } });
// @ts-expect-error -- routes without a rule are never public
createResourceServer({ unmappedRoutes: "allow" });
// @ts-expect-error -- there is no switch for all rules
createResourceServer({ enforcement: "off" });

// Scopes
// @ts-expect-error -- `null` is the value for no admin scope
createResourceServer({ adminScope: false });
// @ts-expect-error -- implied scopes are an array
createResourceServer({ impliedScopes: { "agents:write": "agents:read" } });
// @ts-expect-error -- the vocabulary is an array
createResourceServer({ knownScopes: "agents:read agents:write" });

// Tokens
// @ts-expect-error -- a URL is in logs and histories
createResourceServer({ tokenSources: [{ query: "access_token" }] });
// @ts-expect-error -- a source says whether it is a header or a cookie
createResourceServer({ tokenSources: ["authorization"] });
// @ts-expect-error -- the last credential may be of an attacker
createResourceServer({ multipleCredentials: "last" });
// @ts-expect-error -- a cache has limits
createResourceServer({ tokenCache: true });
// @ts-expect-error -- a string from an environment variable is no number
createResourceServer({ clockToleranceSeconds: "5" });
// @ts-expect-error -- a proof is compared with configured origins
createResourceServer({ senderConstraint: { dpop: true } });
// @ts-expect-error -- only trusted proxies may set the header
createResourceServer({ senderConstraint: { mtls: { from: { header: "client-cert", format: "rfc9440" } } } });
// @ts-expect-error -- only the preset takes plain data
createPlainServer({ senderConstraint: { mtls: { from: "socket" } } });

// Functions
// @ts-expect-error -- without a result, a revoked token would pass
createResourceServer({ isRevoked: () => undefined });
// @ts-expect-error -- a string is true
createResourceServer({ isRevoked: () => "no" });
// @ts-expect-error -- scopes are a promise of a store
createResourceServer({ grants: () => ["agents:read"] });
// @ts-expect-error -- a body has a content type
createResourceServer({ refusalBody: () => "no" });
// @ts-expect-error -- a clock is a function
createResourceServer({ now: Date.now() });
// @ts-expect-error -- a resource has properties
createResourceServer({ resource: "https://service.example" });
// @ts-expect-error -- a server has options
createResourceServer();

// @ts-expect-error -- granted scopes are an array: a string would be compared by its characters
hasScopes("agents:read", "agents:read");
// @ts-expect-error -- the base table is for all services of a process
agentScopeMappings["GET /agents"] = [];
// @ts-expect-error -- so are its rules
agentScopeMappings["GET /sessions"].push("sessions:read");
// @ts-expect-error -- a table is an object, also in `mergeScopeMappings`
mergeScopeMappings(agentScopeMappings, [["GET /health", "public"]]);
