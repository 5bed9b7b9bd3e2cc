import { isSymmetric } from "../../../core/keys/algorithm.ts";
import { suggest } from "../../../core/errors.ts";
import { compact } from "../../../core/runtime/compact.ts";
import {
  type Command,
  type CommandInput,
  readClaims,
  readScopes,
  readSeconds,
  UsageError,
} from "../command.ts";
import { createDevelopmentIssuer, KEY_OPTION, refuseProduction } from "../development-key.ts";
import { type Likeness, LIKENESSES } from "../likenesses.ts";
import { POLICY_OPTIONS, readConfiguration } from "../policy.ts";

const LIKE = `the claims of a well-known issuer's tokens: ${Object.entries(LIKENESSES)
  .map(([kind, { text }]) => `${kind} (${text})`)
  .join(", ")}`;

export const token: Command = {
  name: "token",
  summary: "Sign a token for development, with a development key. Never in production.",
  words: [],
  options: {
    scope: { value: "SCOPE", isRepeatable: true, text: "a scope of the token" },
    sub: { value: "NAME", text: "the `sub`. Default: user-1" },
    expires: { value: "TIME", text: "the lifetime, such as 30s, 15m, 1h or 7d. Default: 1h" },
    aud: { value: "NAME", text: "the `aud`. Default: that of --config, or none" },
    iss: { value: "URL", text: "the `iss`. Default: that of --config, or none" },
    "auth-age": {
      value: "TIME",
      text: "how long ago the user logged in, for `auth_time`. Default: none",
    },
    like: { value: "KIND", text: LIKE },
    claim: { value: "NAME=VALUE", isRepeatable: true, text: "another claim; the value is JSON or a string" },
    dpop: { text: "bind the token to a new key, and print a curl command with a proof for --request" },
    request: {
      value: "REQUEST",
      text: "the request of --dpop: the method and the URL. Default: GET http://localhost:3000/",
    },
    config: {
      ...POLICY_OPTIONS.config,
      text: "the configuration, for `aud`, `iss`, names of claims and the algorithm",
    },
    key: KEY_OPTION,
    "public-key": { text: "print the public key for `verification_keys` instead of a token" },
    jwks: { text: "print the public key for `jwks_file` instead of a token" },
  },
  examples: [
    [
      "--scope agents:web:read --sub u1 --expires 1h",
      "Prints the token and, at a terminal, how to configure a service to accept it.",
    ],
    [
      "--like cloudflare-access --aud 32eafc7 --scope orders:read",
      "Prints a token as a proxy would send it.",
    ],
    [
      "--dpop --request 'GET http://localhost:3000/agents/web' --scope agents:web:read",
      "Prints a token that is bound to a key, and a curl command that can be used once.",
    ],
    ["--public-key", 'Prints the public key, for `export JWT_PUBLIC_KEY="$(scopegate token --public-key)"`.'],
    [
      "--jwks > development.jwks.json",
      'Prints the public key, for "keys": { "jwks_file": "development.jwks.json" }.',
    ],
  ],
  async run(input) {
    refuseProduction(
      input,
      "token signs with a development key: unset NODE_ENV, or get a token from your issuer.",
    );
    if (input.has("dpop") && "cnf" in readClaims(input))
      throw new UsageError("--dpop writes the claim cnf: remove --claim cnf=...");
    const [options, expiresIn, claims, scopes, likeness, authAge, request] = await input.all(
      () => readProfile(input),
      () => readSeconds(input, "expires") ?? 3600,
      () => readClaims(input),
      () => readScopes(input),
      () => readLikeness(input.text("like")),
      () => readSeconds(input, "auth-age"),
      () => readRequest(input),
    );
    const { file, issuer } = await createDevelopmentIssuer(input, options);
    const { verificationKey } = issuer.key;
    if (input.has("public-key"))
      return { data: { verification_key: verificationKey }, text: verificationKey.trim() };
    if (input.has("jwks")) return { data: issuer.jwks, text: JSON.stringify(issuer.jwks, undefined, 2) };
    const userId = input.text("sub") ?? "user-1";
    const text = await issuer.token({
      scopes,
      userId,
      ...compact({ header: likeness?.header, authAge, bound: request && ("dpop" as const) }),
      audience: input.text("aud") ?? options.audience ?? null,
      issuer: input.text("iss") ?? options.issuer ?? null,
      expiresIn,
      claims: { ...likeness?.claims(userId, Math.floor(Date.now() / 1000)), ...claims },
    });
    const proof = request && (await issuer.proofFor({ ...request, token: text }));
    const key = JSON.stringify(verificationKey.trim());
    const note = `The key of this token is in ${file}: don't commit it. To accept the token, only in development:\n  "verification_keys": [${key}]\nor "keys": { "jwks_file": "development.jwks.json" } after scopegate token --jwks > development.jwks.json\nThe algorithm is ${issuer.algorithm}.${likeness ? `\nFor such tokens, add: ${JSON.stringify(likeness.configuration)}` : ""}`;
    if (!request || proof === undefined)
      return { data: { token: text, verification_key: verificationKey }, text, note };
    const curl = `curl --globoff -X ${request.method} -H 'Authorization: DPoP ${text}' -H 'DPoP: ${proof}' '${request.url}'`;
    return {
      data: { token: text, proof, verification_key: verificationKey },
      text: `${text}\n${curl}`,
      note,
    };
  },
};

function readLikeness(kind: string | undefined): Likeness | undefined {
  if (kind === undefined) return undefined;
  if (Object.hasOwn(LIKENESSES, kind)) return LIKENESSES[kind];
  const kinds = Object.keys(LIKENESSES);
  throw new UsageError(
    `--like takes a kind of tokens. ${suggest(kind, kinds, `Write one of ${kinds.join(", ")}.`)}`,
  );
}

/** The request that a proof is for; `undefined` without `--dpop`. */
function readRequest(input: CommandInput): { readonly method: string; readonly url: string } | undefined {
  const written = input.text("request");
  if (!input.has("dpop")) {
    if (written !== undefined) throw new UsageError("--request needs --dpop.");
    return undefined;
  }
  if (input.has("public-key") || input.has("jwks"))
    throw new UsageError("--dpop creates a token: it can't be combined with --public-key and --jwks.");
  const [method = "", url = "", ...others] = (written ?? "GET http://localhost:3000/").split(" ");
  // The URL will be quoted for a shell.
  const isUrl = others.length === 0 && /^https?:\/\/[^\s']+$/.test(url) && URL.canParse(url);
  if (!isUrl || !/^[A-Z]+$/.test(method))
    throw new UsageError(
      "--request takes a method in upper case and a URL without spaces and quotes: --request 'GET http://localhost:3000/agents'.",
    );
  return { method, url };
}

/** Returns the settings for tokens in the configuration, so that its server accepts the new token. */
function readProfile(input: CommandInput) {
  const path = input.text("config");
  const options = path === undefined ? {} : readConfiguration(path, (parsed) => parsed);
  const { algorithms, algorithm = algorithms?.[0] ?? "RS256", serviceId, audience = serviceId } = options;
  if (isSymmetric(algorithm))
    throw new UsageError(
      `token creates no secrets for ${algorithm}: set an asymmetric algorithm, such as RS256.`,
    );
  const { issuer, scopesClaim, userIdClaim } = options;
  return compact({ algorithm, issuer, audience, scopesClaim, userIdClaim });
}
