/** The entry point `scopegate/api-keys`: API keys, and where their records are. */
export { apiKeys, type ApiKeysOptions } from "./api-keys.ts";
export { apiKeyFile } from "./file-store.ts";
export { type ApiKeyRecord, createApiKey, type NewApiKey } from "./record.ts";
export { type ApiKeyStore, inMemoryApiKeys, type ListedApiKey, redisApiKeys } from "./stores.ts";
