import {
  apiKeyFile,
  type ApiKeyStore,
  createApiKey,
  type ListedApiKey,
  type NewApiKey,
} from "../../../stores/api-keys/index.ts";
import { compact } from "../../../core/runtime/compact.ts";
import {
  type Command,
  type CommandInput,
  readScopes,
  readSeconds,
  type Result,
  UsageError,
} from "../command.ts";
import { renderColumns } from "../../shared/table.ts";
import { requirePrivate } from "../files.ts";

export const key: Command = {
  name: "key",
  summary: "Create, list and revoke API keys, in a file with their hashes.",
  words: ["create|list|revoke", "[ID]"],
  options: {
    store: { value: "FILE", text: "the keys, without their secrets; created with mode 0600" },
    name: { value: "NAME", text: "create: a name for the key" },
    owner: { value: "ID", text: "create: the user or service account that the key belongs to" },
    scope: { value: "SCOPE", isRepeatable: true, text: "create: a scope of the key" },
    expires: {
      value: "TIME",
      text: "create: the lifetime, such as 12h or 90d. Default: the key never expires",
    },
    prefix: { value: "PREFIX", text: "create: the beginning of the key, such as acme_pat_. Default: key_" },
    "pepper-env": {
      value: "NAME",
      text: "create: the environment variable with the pepper. Default: no pepper",
    },
    reason: { value: "TEXT", text: "revoke: the reason, for operators" },
  },
  examples: [
    [
      "create --name ci --owner u1 --scope agents:read --expires 90d --store keys.json",
      "Prints the key and, at a terminal, how to use it.",
    ],
    ["list --store keys.json", "Lists every key with its owner, scopes, times and state."],
    ["revoke 4fGhT0aZ19qL --store keys.json", "Revokes a key. Exit code 1 if there is no such key."],
  ],
  async run(input) {
    const [action = "", id] = input.words;
    const [file, made] = await input.all(
      () => readStore(input),
      () => (action === "create" ? readKey(input) : undefined),
      () => {
        if (!["create", "list", "revoke"].includes(action) || (action === "revoke") !== (id !== undefined))
          throw new UsageError("key takes create, list, or revoke with the id of a key.");
      },
    );
    const store = apiKeyFile(file);
    try {
      if (made) return await create(store, file, made);
      if (id === undefined) return list(await store.list(), Date.now() / 1000);
      const isRevoked = await store.revoke(id, input.text("reason"));
      const text = isRevoked
        ? "Revoked."
        : "The store has no key with this id: scopegate key list shows all ids.";
      return { isFinding: !isRevoked, data: { revoked: isRevoked }, text };
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  },
};

function readStore(input: CommandInput): string {
  const file = input.text("store");
  if (file === undefined) throw new UsageError("key needs a file: write --store keys.json.");
  requirePrivate(file);
  return file;
}

function readKey(input: CommandInput): NewApiKey {
  const { text } = input;
  const variable = text("pepper-env");
  const absent = ["name", "owner", "scope"].filter((option) => !input.has(option));
  if (absent.length > 0) throw new UsageError(...absent.map((option) => `key create needs --${option}.`));
  const pepper = variable === undefined ? undefined : input.io.env[variable];
  if (variable !== undefined && pepper === undefined)
    throw new UsageError("--pepper-env takes the name of an environment variable, and this one isn't set.");
  const scopes = readScopes(input);
  const seconds = readSeconds(input, "expires");
  const expiresAt = seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000);
  return {
    prefix: text("prefix") ?? "key_",
    name: text("name") ?? "",
    ownerId: text("owner") ?? "",
    scopes,
    ...compact({ pepper, expiresAt }),
  };
}

async function create(store: ApiKeyStore, file: string, options: NewApiKey): Promise<Result> {
  const { key: text, record } = createApiKey(options);
  await store.add(record);
  const { hash: _, ...data } = record;
  const prefix = JSON.stringify(options.prefix);
  const pepper = options.pepper === undefined ? "" : ", pepper";
  const note = `This key is shown only now: ${file} has its hash. To accept it:
  const { find, markUsed } = apiKeyFile(${JSON.stringify(file)});
  createResourceServer({ ..., opaqueTokens: [apiKeys({ prefix: ${prefix}, find, onUse: markUsed${pepper} })] });
Clients send it as: Authorization: Bearer KEY. To revoke it: scopegate key revoke ${record.id} --store ${file}`;
  return { data: { key: text, ...data }, text, note };
}

function list(keys: readonly ListedApiKey[], now: number): Result {
  const day = (seconds?: number) =>
    seconds === undefined ? "never" : new Date(seconds * 1000).toISOString().slice(0, 10);
  const stateOf = ({ revokedAt, expiresAt = Infinity }: ListedApiKey) => {
    if (revokedAt !== undefined) return "revoked";
    return expiresAt > now ? "active" : "expired";
  };
  const rows = keys.map((listed) => [
    ...[listed.id, stateOf(listed), listed.name, listed.ownerId, listed.scopes.join(" ")],
    ...[listed.createdAt, listed.expiresAt, listed.lastUsedAt].map(day),
  ]);
  const head = ["id", "state", "name", "owner", "scopes", "created", "expires", "last used"];
  return {
    data: { keys: keys.map((listed) => ({ state: stateOf(listed), ...listed })) },
    text: renderColumns([head, ...rows]),
  };
}
