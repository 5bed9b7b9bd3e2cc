/**
 * Checks of the library, each with the tests of its sentence. `npm run test:mutation -- --checks` removes one after the
 * other: without it, these tests must fail.
 */
export interface Check {
  /** What no longer holds without the check. */
  readonly sentence: string;
  /** A file of `src`, and the text in it that is replaced. It is there once. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
  /** The test file, or the folder, where the sentence lives. */
  readonly tests: string;
}

const TOKENS = "security/tokens.test.ts";
const PROOFS = "security/proofs";
const CONDITIONS = "capabilities/conditions";
const OPERATIONS = "capabilities/mcp-operations";

const core = "core/token";
const dpop = "capabilities/sender-constraint/dpop.ts";

type Row = readonly [sentence: string, file: string, text: string, replacement: string, tests: string];

const ROWS: readonly Row[] = [
  // What a token must be.
  [
    "A token has at most `maxTokenBytes`.",
    `${core}/jwt-parts.ts`,
    "token.length > maxTokenBytes",
    "false",
    TOKENS,
  ],
  ["A payload is strict base64url.", `${core}/jwt-parts.ts`, "|| !isCanonicalBase64Url(payload)", "", TOKENS],
  [
    "A signature is strict base64url.",
    `${core}/jwt-parts.ts`,
    "!isCanonicalBase64Url(signature)",
    "false",
    TOKENS,
  ],
  ["A header with `crit` is refused.", `${core}/jwt-parts.ts`, 'Object.hasOwn(json, "crit") ||', "", TOKENS],
  ["A header with `b64` is refused.", `${core}/jwt-parts.ts`, '|| Object.hasOwn(json, "b64")', "", TOKENS],
  [
    "JSON members are not repeated.",
    `${core}/verifier.ts`,
    "!isOnlyReading(",
    "false && !isOnlyReading(",
    TOKENS,
  ],
  [
    "`iat` is not in the future.",
    `${core}/verifier.ts`,
    "if (isIssuedLater(",
    "if (false && isIssuedLater(",
    TOKENS,
  ],
  [
    "`typ` is one that is accepted.",
    `${core}/verifier.ts`,
    "!acceptedTypes.has(",
    "false && !acceptedTypes.has(",
    TOKENS,
  ],
  [
    "Required claims are there.",
    `${core}/verifier.ts`,
    "if (claim !== undefined) return",
    "if (false) return",
    "core/token",
  ],
  [
    "The client is one of `clients`.",
    `${core}/verifier.ts`,
    "!isClientAllowed(payload, clients)",
    "false",
    "core/token",
  ],
  [
    "A required claim has one of its values.",
    `${core}/required-claims.ts`,
    "!values.includes(",
    "!Boolean(",
    "core/token",
  ],
  [
    "An unknown issuer has no keys.",
    `${core}/issuers.ts`,
    "firstVerifier && !selectByIssuer",
    "firstVerifier",
    "core/issuers",
  ],
  ["`aud` is text.", `${core}/principal.ts`, 'if (!audience) return invalidClaim("aud");', "", TOKENS],
  [
    "A bound token needs a capability.",
    `${core}/principal.ts`,
    "isBound && !binding",
    "false",
    "capabilities/sender-constraint",
  ],
  ["Actors are at most eight.", `${core}/actors.ts`, "actors.length === MAX_DEPTH", "false", "core/token"],
  [
    "All claims of the client are allowed.",
    `${core}/clients.ts`,
    "present.every(",
    "present.some(",
    "core/token",
  ],
  [
    "A claim of another issuer isn't read.",
    `${core}/claim-values.ts`,
    "source.issuer !== issuer",
    "false",
    CONDITIONS,
  ],
  ["A required source of scopes is there.", `${core}/scope-sources.ts`, "&& !required", "", TOKENS],
  [
    "Roles grant only what the map names.",
    `${core}/scope-sources.ts`,
    "if (map) granted.push(scopesOfRoles(values, map));\n    else if",
    "if",
    "core/token",
  ],
  [
    "The admin scope is withheld.",
    `${core}/scope-sources.ts`,
    "withheld !== undefined && values.includes(withheld)",
    "false",
    "core",
  ],
  [
    "A token is in one place.",
    `${core}/credential.ts`,
    'if (first.kind !== "missing") return SEVERAL_SOURCES;',
    "",
    "security/credentials.test.ts",
  ],
  [
    "A header is there once.",
    `${core}/credential.ts`,
    "others.length > 0",
    "false",
    "security/credentials.test.ts",
  ],
  [
    "A cookie is there once.",
    `${core}/credential.ts`,
    "if (values.length > 1) return SEVERAL_COOKIES;",
    "",
    "security/credentials.test.ts",
  ],
  [
    "A remembered token ends with its `exp`.",
    `${core}/token-cache.ts`,
    "&& now < entry.endsAt",
    "",
    "core/token",
  ],
  [
    "A remembered token ends with its key.",
    `${core}/token-cache.ts`,
    "isFresh && entry.keys.holds(entry.key)",
    "isFresh",
    "core/token",
  ],
  [
    "A revocation check says true or false.",
    `${core}/revocation-check.ts`,
    "if (isRevoked === false) return",
    "if (true) return",
    "security/fail-closed.test.ts",
  ],
  [
    "Both revocation checks are asked.",
    `${core}/revocation-check.ts`,
    "checks.slice(index + 1)",
    "[]",
    "stores/revocation",
  ],
  // How a refusal looks.
  [
    "Text in a challenge is quoted.",
    "core/response/challenge.ts",
    'safe.replaceAll(/["\\\\]/g, "\\\\$&")',
    "safe",
    "core/response",
  ],
  [
    "A hidden route looks like a missing one.",
    "core/response/problem.ts",
    "unmappedStatus === 404 &&",
    "false &&",
    "conformance",
  ],
  [
    "A body of `refusalBody` has a media type.",
    "core/response/custom-body.ts",
    'typeof contentType !== "string" ||',
    "",
    "core/response",
  ],
  [
    "A response to HEAD has no body.",
    "core/response/raw-response.ts",
    'method === "HEAD" ? head :',
    "",
    "core/response",
  ],
  [
    "`refuse` takes refusals.",
    "core/response/refusal.ts",
    'if (typeof (refused as Partial<Refused>).reason !== "string") throw notRefused(refused);',
    "",
    "core",
  ],
  // What capabilities check.
  [
    "A batch has a declared prefix.",
    "capabilities/batches/batch.ts",
    "declared.has(parent) &&",
    "",
    "capabilities/batches.test.ts",
  ],
  [
    "An encoded percent is no batch.",
    "capabilities/batches/batch.ts",
    '|| separated.includes("%25")',
    "",
    "capabilities/batches.test.ts",
  ],
  [
    "Actors that can't be read are nobody.",
    "capabilities/conditions/actors.ts",
    "if (!actor) return false;",
    "if (!actor) return true;",
    CONDITIONS,
  ],
  [
    "`where` needs an equal value.",
    "capabilities/conditions/where.ts",
    "!values.some((value) => String(value) === text)",
    "false",
    CONDITIONS,
  ],
  [
    "`unless` isn't met by the admin scope.",
    "capabilities/conditions/evaluate.ts",
    '&& satisfaction.by !== "admin"',
    "",
    CONDITIONS,
  ],
  [
    "An exception needs every deciding rule.",
    "capabilities/conditions/restrictions.ts",
    "deciding.length > 0 && deciding.every(",
    "deciding.some(",
    CONDITIONS,
  ],
  [
    "An expired connection ends.",
    "capabilities/connections/revalidate.ts",
    "if (waitMs <= 0) return EXPIRED;",
    "",
    "capabilities/connections",
  ],
  [
    "`grants` returns a list.",
    "capabilities/grants/grants.ts",
    "!Array.isArray(scopes) ||",
    "",
    "capabilities/grants.test.ts",
  ],
  [
    "A key has no grants.",
    "capabilities/grants/grants.ts",
    'if (principal.tokenKind === "api_key") return identified;',
    "",
    "stores/api-keys",
  ],
  [
    "Metadata is of the issuer.",
    "capabilities/keys/discovery.ts",
    "publishedIssuer !== issuer",
    "false",
    "capabilities/keys",
  ],
  [
    "Keys of metadata are not on this machine.",
    "capabilities/keys/discovery.ts",
    "isLocalUrl(jwksUri) && !isLoopbackUrl(url)",
    "false",
    "capabilities/keys",
  ],
  [
    "A published key is public.",
    "capabilities/keys/jwks.ts",
    'if (kty === "oct") return',
    "if (false) return",
    "capabilities/keys",
  ],
  [
    "A name has no other spelling.",
    "capabilities/mcp-operations/operation-rules.ts",
    "if (hasOtherSpelling(parameters, new Set([name])))",
    "if (false)",
    OPERATIONS,
  ],
  [
    "An operation has its name.",
    "capabilities/mcp-operations/operation-rules.ts",
    'this.methods.isNamed(method) === (name !== undefined && name !== "")',
    "true",
    OPERATIONS,
  ],
  [
    "An opaque token isn't used early.",
    "capabilities/opaque/kind.ts",
    'typeof nbf === "number" && nbf > now + tolerance',
    "false",
    "stores/introspection",
  ],
  ["`htm` is the method.", dpop, 'claimAt(payload, "htm") !== request.method', "false", PROOFS],
  [
    "`ath` is the token.",
    dpop,
    'typeof ath !== "string" || !areEqual(ath, hash("sha256", token, "base64url"))',
    "false",
    PROOFS,
  ],
  ["A proof isn't older than its window.", dpop, "iat < nowSeconds - windowSeconds", "false", PROOFS],
  ["A proof isn't of the future.", dpop, "iat > nowSeconds + aheadSeconds", "false", PROOFS],
  ["The proof's key is the token's.", dpop, "!areEqual(jwk.thumbprint, thumbprint)", "false", PROOFS],
  [
    "The certificate is the token's.",
    "capabilities/sender-constraint/proof-checker.ts",
    "areEqual(certificate.thumbprint, thumbprint)",
    "true",
    "tls/headers.test.ts",
  ],
  [
    "A header with a certificate is of a proxy.",
    "capabilities/sender-constraint/client-certificate.ts",
    "orUndefined(() => isTrusted(connection)) !== true",
    "false",
    "tls",
  ],
  [
    "A shadow reads no credential.",
    "capabilities/shadow/compare.ts",
    "if (isPublic(governing)) return allow(rulesOf(governing.matches));",
    "",
    "capabilities/shadow.test.ts",
  ],
];

export const CHECKS: readonly Check[] = ROWS.map(([sentence, file, text, replacement, tests]) => ({
  ...{ sentence, file: `src/${file}`, text, replacement, tests },
}));
