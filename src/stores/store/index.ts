/** The entry point `scopegate/store`: storage that several processes can share. */
export type { Store, StoreOptions } from "../../core/runtime/store.ts";
export { memoryStore, type MemoryStoreOptions } from "./memory.ts";
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisClient,
  redisStore,
  type RedisStoreOptions,
} from "./redis.ts";
