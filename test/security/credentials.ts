/** Requests whose credential is hostile, odd or honest, and what a server makes of each. Data: the tests run them. */
import { type AccessRequest, createResourceServer, type RefusalReason, type ResourceServer } from "scopegate";
import { createIssuer } from "../support/issuer.ts";

/** Which token sources the server has. */
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
/** A token of exactly the largest size: a claim that nobody reads fills it up, byte by byte. */
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
  header("one field in a list", [`Bearer ${token}`], "allowed"),
  header("a token of the largest size", `Bearer ${largest}`, "allowed"),
  header("a token of the largest size behind a space too many", `Bearer  ${largest}`, "too_large"),
  header("no field", undefined, MISSING),
  header("no field in a list", [], MISSING),
  header("an empty field", "", MALFORMED),
  header("no space", `Bearer${token}`, MALFORMED),
  header("a tab for the space", `Bearer\t${token}`, MALFORMED),
  header("a tab behind the space", `Bearer \t${token}`, MALFORMED),
  header("a tab behind the token", `Bearer ${token}\t`, MALFORMED),
  header("a no-break space", `Bearer\u00a0${token}`, MALFORMED),
  header("a vertical tab", `Bearer\v${token}`, MALFORMED),
  header("a space in front", ` Bearer ${token}`, MALFORMED),
  header("a line break in front", `\r\nBearer ${token}`, MALFORMED),
  header("a second line", `Bearer ${token}\r\nX-User: root`, MALFORMED),
  header("a NUL behind the token", `Bearer ${token}\0`, MALFORMED),
  header("a colon behind the scheme", `Bearer: ${token}`, MALFORMED),
  header("the token alone", token, MALFORMED),
  header("the scheme alone", "Bearer", MALFORMED),
  header("the scheme and a space", "Bearer ", MALFORMED),
  header("the scheme twice", `Bearer Bearer ${token}`, MALFORMED),
  header("quotation marks", `Bearer "${token}"`, MALFORMED),
  header("an auth-param", `Bearer token="${token}"`, MALFORMED),
  header("two tokens, comma-joined", `Bearer ${token}, Bearer ${other}`, MALFORMED),
  header("one token twice, comma-joined", `Bearer ${token},Bearer ${token}`, MALFORMED),
  header("a token and a bare one, comma-joined", `Bearer ${token},${other}`, MALFORMED),
  header("another scheme joined behind", `Bearer ${token}, Basic dXNlcjpwYXNz`, MALFORMED),
  header("a scheme with a letter of another script", `\u0412earer ${token}`, MALFORMED),
  header("a percent-encoded token", `Bearer ${token.replace(".", "%2E")}`, MALFORMED),
  header("padding behind the token, as token68 allows", `Bearer ${token}=`, "malformed"),
  header("another scheme", `Basic ${token}`, MISSING),
  header("another scheme whose name begins alike", `Bearers ${token}`, MISSING),
  header("another scheme joined in front", `Basic dXNlcjpwYXNz, Bearer ${token}`, MISSING),
  header("two fields with one token", [`Bearer ${token}`, `Bearer ${token}`], MALFORMED),
  header("two fields with two tokens", [`Bearer ${token}`, `Bearer ${other}`], MALFORMED),
  header("a second field of another scheme", [`Bearer ${token}`, "Basic dXNlcjpwYXNz"], MALFORMED),
  header("an empty second field", [`Bearer ${token}`, ""], MALFORMED),
  header("a second field of megabytes", [`Bearer ${token}`, "a".repeat(2_000 * KB)], MALFORMED),

  header("one byte too many", `Bearer ${"a".repeat(MAX_TOKEN_BYTES + 1)}`, "too_large"),
  header("ten megabytes", `Bearer ${"a".repeat(10_000 * KB)}`, "too_large"),
  header("ten megabytes in lower case", `bearer ${"a".repeat(10_000 * KB)}`, "too_large"),
  header("ten megabytes in a list", [`Bearer ${"a".repeat(10_000 * KB)}`], "too_large"),
  header("100,000 dots", `Bearer ${".".repeat(100 * KB)}`, "too_large"),
  header("megabytes of spaces", `Bearer ${" ".repeat(2_000 * KB)}${token}`, "too_large"),
  header("megabytes that are no token", `Bearer "${"a".repeat(2_000 * KB)}`, "too_large"),
  header("a good token joined with megabytes", `Bearer ${token}, ${"a".repeat(2_000 * KB)}`, "too_large"),
  header("megabytes without a space", "a".repeat(2_000 * KB), MALFORMED),
  header("megabytes behind a tab", `Bearer\t${"a".repeat(2_000 * KB)}`, MALFORMED),
  header("another scheme of many kilobytes, as Negotiate has", `Negotiate ${"a".repeat(48 * KB)}`, MISSING),

  cookie("a cookie", `access_token=${token}`, "allowed"),
  cookie("a cookie among others", `theme=dark; access_token=${token}; lang=en`, "allowed"),
  cookie(
    "a cookie among many kilobytes of others",
    `${"a=b; ".repeat(2 * KB)}access_token=${token}`,
    "allowed",
  ),
  cookie("a cookie of the largest size", `access_token=${largest}`, "allowed"),
  cookie("the cookie twice", `access_token=${token}; access_token=${other}`, MALFORMED),
  cookie("the cookie twice, the same", `access_token=${token};access_token=${token}`, MALFORMED),
  cookie("the cookie twice, one of them cleared", `access_token=; access_token=${token}`, MALFORMED),
  cookie(
    "the cookie twice, one of them too large",
    `access_token=${token}; access_token=${"a".repeat(5 * KB)}`,
    MALFORMED,
  ),
  cookie("a cookie of another case", `Access_Token=${token}`, MISSING),
  cookie("a cookie inside another one", `x=access_token=${token}`, MISSING),
  cookie("a cleared cookie", "access_token=", MISSING),
  cookie("a quoted cookie", `access_token="${token}"`, "malformed"),
  cookie("a cookie with a scheme", `access_token=Bearer ${token}`, "malformed"),
  cookie("a cookie with one byte too many", `access_token=${"a".repeat(MAX_TOKEN_BYTES + 1)}`, "too_large"),
  cookie("a cookie of ten megabytes", `access_token=${"a".repeat(10_000 * KB)}`, "too_large"),
  cookie("megabytes of empty cookies", ";".repeat(10_000 * KB), "too_large"),
  cookie(
    "megabytes of cookies around a good one",
    `${"a=b; ".repeat(200 * KB)}access_token=${token}`,
    "too_large",
  ),

  both("the header alone", { authorization: `Bearer ${token}` }, "allowed"),
  both("the cookie alone", { cookie: `access_token=${token}` }, "allowed"),
  both("header and cookie", { authorization: `Bearer ${token}`, cookie: `access_token=${token}` }, MALFORMED),
  both(
    "a header beside a cleared cookie",
    { authorization: `Bearer ${token}`, cookie: "access_token=" },
    "allowed",
  ),
  both(
    "a cookie beside another scheme",
    { authorization: "Basic dXNlcjpwYXNz", cookie: `access_token=${token}` },
    "allowed",
  ),
  both(
    "a good cookie beside a header of megabytes",
    {
      authorization: `Bearer ${"a".repeat(2_000 * KB)}`,
      cookie: `access_token=${token}`,
    },
    MALFORMED,
  ),
  both(
    "a good header beside cookies of megabytes",
    {
      authorization: `Bearer ${token}`,
      cookie: ";".repeat(2_000 * KB),
    },
    MALFORMED,
  ),
  both("a token in the query", { target: `/agents?access_token=${token}` }, MISSING),
];

const serverFor = (sources: Sources): ResourceServer =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    defaultScopeMappings: {},
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

/** What the server makes of the credential of a case, through `check`. */
export async function outcomeOf({ sources = "header", request }: CredentialCase): Promise<string> {
  const decision = await servers[sources].check({ method: "GET", target: "/agents", ...request });
  return decision.allowed ? "allowed" : (decision.rejection ?? decision.reason);
}
