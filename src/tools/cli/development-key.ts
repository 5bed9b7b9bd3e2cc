/** The development key, which `token` signs with and `issuer` publishes. */
import type { JWK } from "jose";
import type { TestIssuer, TestIssuerOptions } from "../testing/index.ts";
import { type CommandInput, type Option, UsageError } from "./command.ts";
import { inFile, readSecret } from "./files.ts";

const KEY_FILE = "scopegate-development-key.pem";

/** The option `--key` of both commands. */
export const KEY_OPTION: Option = {
  value: "FILE",
  text: `the file of the key, created with mode 0600. Default: ${KEY_FILE}`,
};

/** @throws UsageError with `mistake` in production, before a key is created */
export function refuseProduction({ io }: CommandInput, mistake: string): void {
  if (/^\s*prod/i.test(io.env["NODE_ENV"] ?? "")) throw new UsageError(mistake);
}

/**
 * Creates an issuer with the key of `--key`. An absent file is created, with a note. The `kid` depends on the
 * thumbprint of the key (RFC 7638), so that a server with another key rejects a token for its key.
 */
export async function createDevelopmentIssuer(
  input: CommandInput,
  options: TestIssuerOptions & Required<Pick<TestIssuerOptions, "algorithm">>,
): Promise<{ readonly file: string; readonly issuer: TestIssuer }> {
  const { calculateJwkThumbprint } = await import("jose");
  const { createTestIssuer } = await import("../testing/index.ts");
  const file = input.text("key") ?? KEY_FILE;
  const createKey = () => {
    // Also shown for `$(scopegate token)`, which shows no other note.
    input.io.note(`scopegate: created ${file}. It's only for development: don't commit it.\n`);
    return createTestIssuer({ algorithm: options.algorithm })
      .key.privateKey.export({ format: "pem", type: "pkcs8" })
      .toString();
  };
  const signingKey = readSecret(file, createKey);
  const create = (kid: string | null) =>
    inFile(file, () => createTestIssuer({ ...options, kid, signingKey }));
  const thumbprint = await calculateJwkThumbprint(create(null).key.publicJwk as JWK);
  return { file, issuer: create(`development-${thumbprint.slice(0, 8)}`) };
}
