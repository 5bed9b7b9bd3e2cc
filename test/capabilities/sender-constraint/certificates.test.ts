/** Tokens and the certificate of their client (RFC 8705), from the header of a proxy. */
import { describe, expect, it } from "vitest";
import type { CertificateSource } from "../../../src/capabilities/sender-constraint/client-certificate.ts";
import { ProofChecker } from "../../../src/capabilities/sender-constraint/proof-checker.ts";
import type { Principal } from "../../../src/core/token/principal.ts";

const HASH = "ab".repeat(32);
const OTHER_HASH = "cd".repeat(32);
const thumbprint = Buffer.from(HASH, "hex").toString("base64url");

const HEADER: CertificateSource = {
  kind: "header",
  header: "x-forwarded-client-cert",
  format: "xfcc",
  needsSocket: false,
  isTrusted: () => true,
};
const SOCKET: CertificateSource = { kind: "socket", needsSocket: true };

const BOUND = { binding: "mtls", claims: { cnf: { "x5t#S256": thumbprint } } } as unknown as Principal;
const UNBOUND = { claims: {} } as unknown as Principal;

function check(
  principal: Principal,
  field?: string | readonly string[],
  { mtls = HEADER, isRequired = false }: { mtls?: CertificateSource; isRequired?: boolean } = {},
) {
  const constraint = new ProofChecker({ dpop: undefined, mtls, isRequired });
  const headers = field === undefined ? {} : { "x-forwarded-client-cert": field };
  return constraint.check(principal, { token: "t", scheme: "Bearer" } as never, {
    method: "GET",
    target: "/",
    headers,
  });
}

const PROVED = { kind: "proved" };
const rejected = (cause: string) => ({ kind: "rejected", proofRejection: "certificate", cause });

describe("a token that is bound to a certificate", () => {
  it("accepts a request with this certificate as proof", () => {
    expect(check(BOUND, `Hash=${HASH}`)).toStrictEqual(PROVED);
    expect(check(BOUND, `Hash=${HASH}`, { isRequired: true })).toStrictEqual(PROVED);
  });

  it("rejects it with another certificate", () => {
    expect(check(BOUND, `Hash=${OTHER_HASH}`)).toStrictEqual(
      rejected("The token is bound to another certificate."),
    );
  });

  it.each([undefined, ""])("misses its proof without a certificate: %j", (field) => {
    const missing = { kind: "missing", binding: "mtls", cause: "The client has no certificate." };
    expect(check(BOUND, field)).toStrictEqual(missing);
    expect(check(BOUND, field, { mtls: SOCKET })).toStrictEqual(missing);
  });
});

describe("a token that is bound to no certificate", () => {
  it("accepts it with any certificate, and without one", () => {
    expect(check(UNBOUND)).toStrictEqual(PROVED);
    expect(check(UNBOUND, `Hash=${HASH}`)).toStrictEqual(PROVED);
    expect(check(UNBOUND, undefined, { mtls: SOCKET })).toStrictEqual(PROVED);
  });

  it("misses its proof if every token must be bound", () => {
    expect(check(UNBOUND, `Hash=${HASH}`, { isRequired: true })).toStrictEqual({
      kind: "missing",
      cause: "The token isn't bound to a key, and `required` is set.",
    });
  });
});

describe("a header with a certificate", () => {
  it.each([BOUND, UNBOUND])(
    "refuses it from a peer that is not trusted, whatever the token is",
    (principal) => {
      const untrusted = rejected(
        "The header x-forwarded-client-cert comes from a peer that isn't in `trusted`, or `trusted` threw.",
      );
      for (const isTrusted of [
        () => false,
        () => {
          throw new Error("The address is not known.");
        },
        () => "yes" as unknown as boolean,
        () => Promise.resolve(true) as unknown as boolean,
      ])
        expect(check(principal, `Hash=${HASH}`, { mtls: { ...HEADER, isTrusted } })).toStrictEqual(untrusted);
    },
  );

  it("refuses it if it is repeated", () => {
    expect(check(BOUND, [`Hash=${HASH}`, `Hash=${HASH}`])).toStrictEqual(
      rejected("The request has several x-forwarded-client-cert headers."),
    );
  });

  // `client-certificate.test.ts` has which values are one.
  it("refuses it if it is not one certificate", () => {
    expect(check(BOUND, `Hash=${HASH},Hash=${HASH}`)).toStrictEqual(
      rejected("The header x-forwarded-client-cert isn't one certificate (xfcc)."),
    );
  });
});
