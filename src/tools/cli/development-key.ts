/** The development key, which `token` signs with and `issuer` publishes. */
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

/** Creates an issuer with the key of `--key`. An absent file is created, with a note. */
export async function createDevelopmentIssuer(
  input: CommandInput,
  options: TestIssuerOptions & Required<Pick<TestIssuerOptions, "algorithm">>,
): Promise<{ readonly file: string; readonly issuer: TestIssuer }> {
  const { createTestIssuer } = await import("../testing/index.ts");
  const file = input.text("key") ?? KEY_FILE;
  const create = () => {
    // Also shown for `$(scopegate token)`, which shows no other note.
    input.io.note(`scopegate: created ${file}. It's only for development: don't commit it.\n`);
    return createTestIssuer({ algorithm: options.algorithm })
      .key.privateKey.export({ format: "pem", type: "pkcs8" })
      .toString();
  };
  const signingKey = readSecret(file, create);
  const issuer = inFile(file, () => createTestIssuer({ ...options, kid: "development", signingKey }));
  return { file, issuer };
}
