/** What the pages say about bound tokens: `htu`, the rejections of proofs, and the schemes of providers. */
import { X509Certificate } from "node:crypto";
import { calculateThumbprint, generateKeyPair, generateProof } from "dpop";
import { describe, expect, it } from "vitest";
import type { TokenSource } from "scopegate";
import { createServer, issuer } from "../support/resource-servers.ts";
import { itemsOf, pageOf, sectionOf, tableOf } from "./markdown.ts";
import { codesOf, readObject } from "./tables.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { unionOf } from "./unions.ts";

const page = pageOf("docs/guides/bound-tokens.md");

describe("docs/guides/bound-tokens.md", () => {
  it("lists every rejection of a proof once, each with a fix", () => {
    const items = itemsOf(sectionOf(page, "What each rejected proof means"));
    expect(items.map(([name]) => name).sort()).toEqual(
      [...unionOf("src/core/token/proof.ts", "ProofRejection")].sort(),
    );
    // What is wrong, and then a sentence that says what to do.
    for (const [name, rest] of items) expect(rest, name).toMatch(/^: .+?\. [A-Z].*\.$/);
  });

  const rows = tableOf(sectionOf(page, "What is compared with `htu`"), "request").map(
    ([request = "", htu = "", answer = ""]) =>
      [codesOf(request)[0] ?? "", codesOf(htu)[0] ?? "", answer.replaceAll("`", "")] as const,
  );

  it("shows for each request whether its proof is accepted", () => {
    expect(new Set(rows.map(([, , result]) => result))).toEqual(new Set(["accepted", "rejected"]));
  });

  it.each(rows)("shows how a request of %s with a proof for %s is decided", async (target, htu, expected) => {
    const keys = await generateKeyPair("ES256");
    const server = createServer({
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "GET /{*path}": [] },
      now: Date.now, // the clock of the proofs
    });
    const jkt = await calculateThumbprint(keys.publicKey);
    const token = await issuer.token({ cnf: { jkt } });
    const dpop = await generateProof(keys, htu, "GET", undefined, token);
    const authorization = `DPoP ${token}`;
    const decision = await server.check({ method: "GET", target, authorization, headers: { dpop } });
    const rejection = decision.allowed ? undefined : (decision.proofRejection ?? decision.reason);
    expect(rejection).toBe(expected === "accepted" ? undefined : "htu");
  });
});

describe("docs/providers", () => {
  it.each([
    ["auth0", "DPoP"],
    ["entra", "mtls_pop"],
  ])("reads tokens of %s that are bound to a certificate, with the scheme %s", async (name, scheme) => {
    const section = sectionOf(pageOf(`docs/providers/${name}.md`), "Bound tokens");
    const [, literal = ""] = /`(tokenSources: \[[^`]+\])`/.exec(section) ?? [];
    const { tokenSources } = readObject(`{ ${literal} }`) as unknown as {
      readonly tokenSources: readonly TokenSource[];
    };
    const server = createServer({
      senderConstraint: { mtls: { from: "socket" } },
      tokenSources,
      scopeMappings: { "GET /stores": [] },
    });
    const { raw, fingerprint256 } = new X509Certificate(CERTIFICATE);
    const thumbprint = Buffer.from(fingerprint256.replaceAll(":", ""), "hex").toString("base64url");
    const token = await issuer.token({ cnf: { "x5t#S256": thumbprint } });
    const decide = async (socket: object) => {
      const authorization = `${scheme} ${token}`;
      const decision = await server.check({
        method: "GET",
        target: "/stores",
        authorization,
        raw: { socket },
      });
      return decision.allowed ? decision.principal?.binding : decision.reason;
    };
    expect(await decide({ getPeerX509Certificate: () => ({ raw }) })).toBe("mtls");
    expect(await decide({})).toBe("proof_missing");
  });
});
