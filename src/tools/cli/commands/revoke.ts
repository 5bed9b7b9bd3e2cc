import { TokenRejectedError } from "../../../core/errors.ts";
import { pipelineOf } from "../../../core/port.ts";
import { compact } from "../../../core/runtime/compact.ts";
import type { RevocationTarget } from "../../../core/token/revocation.ts";
import { isOneProcess } from "../../../stores/store/one-process.ts";
import { type Command, type CommandInput, requireStandardInput, UsageError } from "../command.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";

const TARGETS = {
  "token-id": "tokenId",
  session: "sessionId",
  user: "userId",
  client: "clientId",
} as const;

export const revoke: Command = {
  name: "revoke",
  summary: "Revoke a token, a session, a user, a client or an issuer, in the store of a server.",
  words: [],
  options: {
    app: {
      ...POLICY_OPTIONS.app,
      text: "exports `server`, with the option `revocation`: sharedRevocation(store)",
    },
    token: { value: "-", text: "read the token from standard input" },
    "token-id": { value: "ID", text: "the `jti` of a token, or the id of an API key" },
    session: { value: "ID", text: "every token of a session" },
    user: { value: "ID", text: "every token of a user" },
    client: { value: "ID", text: "every token of a client: the first of `client_id`, `azp` and `cid`" },
    issuer: { value: "URL", text: "only tokens of this issuer; alone: every token of this issuer" },
    before: { value: "TIME", text: "only tokens issued up to this time (ISO 8601). Default: now" },
    until: { value: "TIME", text: "when the revocation ends. Default: `exp` of --token, or `keepSeconds`" },
    reason: { value: "TEXT", text: "the reason, for operators" },
    undo: { text: "withdraw the revocation of the same target" },
  },
  examples: [
    ['--app ./server.js --user u1 --reason "The account was closed."', "Revokes every token of a user."],
    ["--app ./server.js --user u1 --undo", "Allows the user again, including old tokens."],
    ["--app ./server.js --token -", "Revokes one token, which is read from standard input.", "token.txt"],
  ],
  async run(input) {
    const [{ server }, target, options] = await input.all(
      () => {
        if (!input.has("app"))
          throw new UsageError(
            "revoke needs the store of your server: write --app ./server.js, and export `server` from this file.",
          );
        return readPolicy(input);
      },
      () => readTarget(input),
      () => compact({ until: readTime(input, "until"), reason: input.text("reason") }),
    );
    if (isOneProcess(Object(pipelineOf(server).rules.revocation) as object))
      throw new UsageError(
        "revoke doesn't reach a running server whose revocations are in the memory of its process, as with inMemoryRevocation(): write revocation: sharedRevocation(redisStore(client)), or call server.revoke in that process.",
      );
    try {
      await server.ready();
      if (input.has("undo")) {
        const isWithdrawn = await server.unrevoke(target);
        const text = isWithdrawn ? "Withdrawn." : "There is no revocation of this target.";
        return { isFinding: !isWithdrawn, data: { withdrawn: isWithdrawn }, text };
      }
      await server.revoke(target, options);
    } catch (error) {
      if (error instanceof TokenRejectedError) {
        const { rejection } = error;
        const text = `The token isn't accepted anyway: ${rejection}.`;
        return { isFinding: true, data: { revoked: false, rejection }, text };
      }
      throw new UsageError(error instanceof Error ? error.message : "The revocation failed.");
    } finally {
      await server.close();
    }
    return { data: { revoked: true }, text: "Revoked." };
  },
};

async function readTarget(input: CommandInput): Promise<RevocationTarget> {
  const named = Object.entries(TARGETS).filter(([option]) => input.has(option));
  const [issuer, before] = [input.text("issuer"), readTime(input, "before")];
  const count = named.length + Number(input.has("token"));
  if (count > 1 || (count === 0 && issuer === undefined))
    throw new UsageError(
      "revoke takes one of --token -, --token-id, --session, --user and --client, or --issuer alone.",
    );
  requireStandardInput(input);
  if (input.has("token")) return { token: (await input.io.read()).trim() };
  const [option, name] = named[0] ?? [];
  const subject = option === undefined || name === undefined ? {} : { [name]: input.text(option) };
  return { ...subject, ...compact({ issuer, before }) } as RevocationTarget;
}

function readTime(input: CommandInput, option: "before" | "until"): Date | undefined {
  const text = input.text(option);
  if (text === undefined) return undefined;
  const time = new Date(text);
  // Other formats stand for different times on different machines.
  if (!/^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) || Number.isNaN(time.getTime()))
    throw new UsageError(`--${option} takes a time such as 2030-01-31 or 2030-01-31T12:00:00Z.`);
  return time;
}
