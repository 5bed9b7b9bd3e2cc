/** What all suites of mutual TLS share: certificates, tokens that are bound to them, and guards that remember why. */
import { afterAll } from "vitest";
import type { Decision, ResourceServer } from "scopegate";
import type { MtlsOptions, SenderConstraintOptions } from "scopegate/sender-constraint";
import type { Answer } from "../support/http.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import type { Listening } from "../support/tls-hosts.ts";
import { createCertificates, type TestCertificate } from "../support/x509.ts";

export const certificates = createCertificates();

export const { ec, rsa, odd, selfSigned } = certificates;

/** The header of a proxy, in the options. */
export type CertificateHeader = Exclude<MtlsOptions["from"], "socket">;

/** Signs a token that may read any store; bound to a certificate, if there is one. */
export const tokenFor = (certificate?: TestCertificate): Promise<string> =>
  issuer.token({
    scopes: ["stores:*:read"],
    ...(certificate && { cnf: { "x5t#S256": certificate.thumbprint } }),
  });

export interface Guard {
  readonly server: ResourceServer;
  /** `200 mtls` with the binding of the caller, or the status, the reason and the `proofRejection` of the refusal. */
  readonly verdictOn: (answer: Answer) => string;
}

/** A server with one rule, and the reason of its newest refusal. */
export function guardFor(from: MtlsOptions["from"], more: SenderConstraintOptions = {}): Guard {
  let newest: Decision | undefined;
  const server = createServer({
    scopeMappings: { "GET /stores/:store_id": ["stores:<store_id>:read"] },
    senderConstraint: { mtls: { from }, ...more },
    onDecision: (decision) => void (newest = decision),
  });
  const verdictOn = ({ status, body }: Answer): string => {
    if (status === 200) return `200 ${(body as { readonly binding: string }).binding}`;
    if (newest === undefined || newest.allowed) return String(status);
    return [status, newest.reason, newest.proofRejection ?? ""].join(" ").trim();
  };
  return { server, verdictOn };
}

const listening: Listening[] = [];

/** Closes what a suite has started, after all of its tests. */
export function closing<Started extends Listening>(started: Started): Started {
  listening.push(started);
  return started;
}

/** Call it once in each file. */
export function closeAfterwards(): void {
  afterAll(async () => {
    for (const { close } of listening.splice(0)) await close();
  });
}

export const ACCEPTED = "200 mtls";
export const UNBOUND = "200 undefined";
export const MISSING = "401 proof_missing";
export const REJECTED = "401 proof_rejected certificate";

/** The certificate as HAProxy and Caddy send it. */
export const byteSequenceOf = ({ der }: Pick<TestCertificate, "der">): string =>
  `:${der.toString("base64")}:`;

/** The certificate as nginx sends it: every character but letters, digits and `-._~` is escaped. */
export const escapedPemOf = ({ pem }: Pick<TestCertificate, "pem">): string => encodeURIComponent(pem);

/** The SHA-256 of the certificate as Envoy sends it. */
export const hexHashOf = ({ thumbprint }: Pick<TestCertificate, "thumbprint">): string =>
  Buffer.from(thumbprint, "base64url").toString("hex");
