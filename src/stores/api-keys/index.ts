/** The entry point `scopegate/api-keys`: API keys, and the stores of their records. */
export { apiKeys, type ApiKeysOptions } from "./api-keys.ts";
export { apiKeyFile } from "./file-store.ts";
export { type ApiKeyRecord, createApiKey, type NewApiKey } from "./record.ts";
export { type ApiKeyStore, apiKeyStore, type ListedApiKey } from "./store.ts";
