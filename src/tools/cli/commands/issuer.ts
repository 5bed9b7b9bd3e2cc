import { type Command, type CommandInput, UsageError } from "../command.ts";
import { createDevelopmentIssuer, KEY_OPTION, refuseProduction } from "../development-key.ts";
import type { TestIssuer, TestKeyServer } from "../../testing/index.ts";

const PORT = 4400;

export const issuer: Command = {
  name: "issuer",
  summary: "Run an issuer on this machine, with the key of token. Never in production.",
  words: [],
  options: {
    port: { value: "PORT", text: `the port on localhost; 0 for a free one. Default: ${PORT}` },
    key: KEY_OPTION,
  },
  examples: [
    [`--port ${PORT}`, `Serves the metadata and the keys of http://localhost:${PORT}, until Ctrl+C.`],
  ],
  async run(input) {
    refuseProduction(
      input,
      "issuer publishes a development key: unset NODE_ENV, or use your identity provider.",
    );
    const [port] = await input.all(() => readPort(input));
    const development = await createDevelopmentIssuer(input, { algorithm: "RS256" });
    const server = await openServer(development.issuer, port);
    const keyOption = input.has("key") ? ` --key ${JSON.stringify(development.file)}` : "";
    input.io
      .note(`scopegate: The issuer ${server.url} runs until Ctrl+C. Configure your server, and create a token:
  export ISSUER=${server.url}
  npx scopegate token --iss ${server.url} --aud orders --scope orders:read${keyOption}\n`);
    await input.io.untilStopped();
    await server.close();
    return { data: { issuer: server.url, jwks_uri: server.jwksUri }, text: "Stopped." };
  },
};

function readPort(input: CommandInput): number {
  const text = input.text("port") ?? String(PORT);
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new UsageError(`--port takes a number up to 65535: write --port ${PORT}.`);
  return Number(text);
}

async function openServer({ jwks }: TestIssuer, port: number): Promise<TestKeyServer> {
  const { openKeyServer } = await import("../../testing/key-server.ts");
  try {
    return await openKeyServer({ jwks }, { localhostPort: port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UsageError(
      `Port ${port} can't be used (${code}): write another one, or --port 0 for a free one.`,
    );
  }
}
