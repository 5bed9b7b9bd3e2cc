/** A table of requests with hostile, unusual and valid credentials, and the expected outcome of each. */
import { type AccessRequest, createResourceServer, type RefusalReason, type ResourceServer } from "scopegate";
import { createIssuer } from "../support/issuer.ts";

/** The token sources of the server. */
type Sources = "header" | "cookie" | "both";

export interface CredentialCase {
  readonly name: string;
  readonly sources?: Sources;
  readonly request: Partial<AccessRequest>;
  readonly expected: "allowed" | RefusalReason | "too_large" | "malformed";
}

const MAX_TOKEN_BYTES = 4_000;
const KB = 1_000;

const issuer = createIssuer();
const token = await issuer.token();
const other = await issuer.token({ sub: "user-2" });
/** A token of exactly the maximum size, padded with an unused claim. */
const largest = await tokenOfSize(MAX_TOKEN_BYTES);

async function tokenOfSize(size: number): Promise<string> {
  for (let filler = 0; filler < size; filler += 1) {
    const made = await issuer.token({
      filler: "x".repeat(Math.max(0, Math.floor((size * 3) / 4) - 420 + filler)),
    });
    if (made.length === size) return made;
  }
  throw new Error(`No token has ${size} bytes.`);
}

const MALFORMED = "credential_malformed";
const MISSING = "credential_missing";

const header = (
  name: string,
  authorization: AccessRequest["authorization"],
  expected: CredentialCase["expected"],
) => ({ name, request: { authorization }, expected }) satisfies CredentialCase;
const cookie = (name: string, text: string, expected: CredentialCase["expected"]) =>
  ({ name, sources: "cookie", request: { cookie: text }, expected }) satisfies CredentialCase;
const both = (
  name: string,
  request: Partial<AccessRequest>,
  expected: CredentialCase["expected"],
): CredentialCase => ({ name, sources: "both", request, expected });

export const CREDENTIAL_CASES: readonly CredentialCase[] = [
  header("the scheme as RFC 6750 writes it", `Bearer ${token}`, "allowed"),
  header("a lower-case scheme", `bearer ${token}`, "allowed"),
  header("an upper-case scheme", `BEARER ${token}`, "allowed"),
  header("several spaces", `Bearer   ${token}`, "allowed"),
  header("one field in an array", [`Bearer ${token}`], "allowed"),
  header("a token of the maximum size", `Bearer ${largest}`, "allowed"),
  header("a token of the maximum size after two spaces", `Bearer  ${largest}`, "too_large"),
  header("no Authorization header", undefined, MISSING),
  header("an empty array of fields", [], MISSING),
  header("an empty field", "", MALFORMED),
  header("no space", `Bearer${token}`, MALFORMED),
  header("a tab instead of the space", `Bearer\t${token}`, MALFORMED),
  header("a tab after the space", `Bearer \t${token}`, MALFORMED),
  header("a tab after the token", `Bearer ${token}\t`, MALFORMED),
  header("a no-break space", `Bearer\u00a0${token}`, MALFORMED),
  header("a vertical tab", `Bearer\v${token}`, MALFORMED),
  header("a leading space", ` Bearer ${token}`, MALFORMED),
  header("a leading line break", `\r\nBearer ${token}`, MALFORMED),
  header("a second line", `Bearer ${token}\r\nX-User: root`, MALFORMED),
  header("a NUL after the token", `Bearer ${token}\0`, MALFORMED),
  header("a colon after the scheme", `Bearer: ${token}`, MALFORMED),
  header("the token alone", token, MALFORMED),
  header("the scheme alone", "Bearer", MALFORMED),
  header("the scheme and a space", "Bearer ", MALFORMED),
  header("the scheme twice", `Bearer Bearer ${token}`, MALFORMED),
  header("quotation marks", `Bearer "${token}"`, MALFORMED),
  header("an auth-param", `Bearer token="${token}"`, MALFORMED),
  header("two tokens, comma-joined", `Bearer ${token}, Bearer ${other}`, MALFORMED),
  header("one token twice, comma-joined", `Bearer ${token},Bearer ${token}`, MALFORMED),
  header("two tokens, comma-joined, with one scheme", `Bearer ${token},${other}`, MALFORMED),
  header("a second scheme after a comma", `Bearer ${token}, Basic dXNlcjpwYXNz`, MALFORMED),
  header("a scheme with a Cyrillic letter", `\u0412earer ${token}`, MALFORMED),
  header("a percent-encoded token", `Bearer ${token.replace(".", "%2E")}`, MALFORMED),
  header("padding after the token, as token68 allows", `Bearer ${token}=`, "malformed"),
  header("another scheme", `Basic ${token}`, MISSING),
  header("another scheme that starts with Bearer", `Bearers ${token}`, MISSING),
  header("another scheme before a comma", `Basic dXNlcjpwYXNz, Bearer ${token}`, MISSING),
  header("two fields with the same token", [`Bearer ${token}`, `Bearer ${token}`], MALFORMED),
  header("two fields with different tokens", [`Bearer ${token}`, `Bearer ${other}`], MALFORMED),
  header("a second field of another scheme", [`Bearer ${token}`, "Basic dXNlcjpwYXNz"], MALFORMED),
  header("an empty second field", [`Bearer ${token}`, ""], MALFORMED),
  header("a second field of megabytes", [`Bearer ${token}`, "a".repeat(2_000 * KB)], MALFORMED),

  header("one byte too many", `Bearer ${"a".repeat(MAX_TOKEN_BYTES + 1)}`, "too_large"),
  header("ten megabytes", `Bearer ${"a".repeat(10_000 * KB)}`, "too_large"),
  header("ten megabytes in lower case", `bearer ${"a".repeat(10_000 * KB)}`, "too_large"),
  header("ten megabytes in an array", [`Bearer ${"a".repeat(10_000 * KB)}`], "too_large"),
  header("100,000 dots", `Bearer ${".".repeat(100 * KB)}`, "too_large"),
  header("megabytes of spaces", `Bearer ${" ".repeat(2_000 * KB)}${token}`, "too_large"),
  header("megabytes that are not a token68", `Bearer "${"a".repeat(2_000 * KB)}`, "too_large"),
  header(
    "a valid token and megabytes, comma-joined",
    `Bearer ${token}, ${"a".repeat(2_000 * KB)}`,
    "too_large",
  ),
  header("megabytes without a space", "a".repeat(2_000 * KB), MALFORMED),
  header("megabytes after a tab", `Bearer\t${"a".repeat(2_000 * KB)}`, MALFORMED),
  header(
    "another scheme with many kilobytes, such as Negotiate",
    `Negotiate ${"a".repeat(48 * KB)}`,
    MISSING,
  ),

  cookie("a cookie", `access_token=${token}`, "allowed"),
  cookie("a cookie among others", `theme=dark; access_token=${token}; lang=en`, "allowed"),
  cookie(
    "a cookie among many kilobytes of others",
    `${"a=b; ".repeat(2 * KB)}access_token=${token}`,
    "allowed",
  ),
  cookie("a cookie of the maximum size", `access_token=${largest}`, "allowed"),
  cookie("the cookie twice", `access_token=${token}; access_token=${other}`, MALFORMED),
  cookie("the cookie twice, with the same token", `access_token=${token};access_token=${token}`, MALFORMED),
  cookie("the cookie twice, one of them cleared", `access_token=; access_token=${token}`, MALFORMED),
  cookie(
    "the cookie twice, one of them too large",
    `access_token=${token}; access_token=${"a".repeat(5 * KB)}`,
    MALFORMED,
  ),
  cookie("a cookie name in other letter case", `Access_Token=${token}`, MISSING),
  cookie("the cookie inside the value of another cookie", `x=access_token=${token}`, MISSING),
  cookie("a cleared cookie", "access_token=", MISSING),
  cookie("a quoted cookie", `access_token="${token}"`, "allowed"),
  cookie("a cookie with one quote", `access_token="${token}`, "malformed"),
  cookie("a cookie that is quoted twice", `access_token=""${token}""`, "malformed"),
  cookie("a cookie with a scheme", `access_token=Bearer ${token}`, "malformed"),
  cookie("a cookie with one byte too many", `access_token=${"a".repeat(MAX_TOKEN_BYTES + 1)}`, "too_large"),
  cookie("a cookie of ten megabytes", `access_token=${"a".repeat(10_000 * KB)}`, "too_large"),
  cookie("megabytes of empty cookies", ";".repeat(10_000 * KB), "too_large"),
  cookie(
    "a valid cookie among megabytes of cookies",
    `${"a=b; ".repeat(200 * KB)}access_token=${token}`,
    "too_large",
  ),

  both("only the header", { authorization: `Bearer ${token}` }, "allowed"),
  both("only the cookie", { cookie: `access_token=${token}` }, "allowed"),
  both(
    "the header and the cookie",
    { authorization: `Bearer ${token}`, cookie: `access_token=${token}` },
    MALFORMED,
  ),
  both(
    "the header and a cleared cookie",
    { authorization: `Bearer ${token}`, cookie: "access_token=" },
    "allowed",
  ),
  both(
    "the cookie and another scheme in the header",
    { authorization: "Basic dXNlcjpwYXNz", cookie: `access_token=${token}` },
    "allowed",
  ),
  both(
    "a valid cookie and a header of megabytes",
    {
      authorization: `Bearer ${"a".repeat(2_000 * KB)}`,
      cookie: `access_token=${token}`,
    },
    MALFORMED,
  ),
  both(
    "a valid header and cookies of megabytes",
    {
      authorization: `Bearer ${token}`,
      cookie: ";".repeat(2_000 * KB),
    },
    MALFORMED,
  ),
  both("a token in the query string", { target: `/agents?access_token=${token}` }, MISSING),
];

const serverFor = (sources: Sources): ResourceServer =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings: { "GET /agents": [] },
    maxTokenBytes: MAX_TOKEN_BYTES,
    tokenSources: [
      ...(sources === "cookie" ? [] : [{ header: "authorization" } as const]),
      ...(sources === "header" ? [] : [{ cookie: "access_token" }]),
    ],
  });

const servers: Readonly<Record<Sources, ResourceServer>> = {
  header: serverFor("header"),
  cookie: serverFor("cookie"),
  both: serverFor("both"),
};

/** Returns `allowed`, the rejection or the reason for refusal. */
export async function outcomeOf({ sources = "header", request }: CredentialCase): Promise<string> {
  const decision = await servers[sources].check({ method: "GET", target: "/agents", ...request });
  return decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);
}
