/** Stores without what makes them safe must not compile. */
import { createResourceServer } from "scopegate";
import { apiKeys, createApiKey } from "scopegate/api-keys";
import { introspection } from "scopegate/introspection";
import { createReplays } from "scopegate/replay";
import { inMemoryRevocation, sharedRevocation } from "scopegate/revocation";
import { memoryStore, type NodeRedisClient, redisStore } from "scopegate/store";

declare const client: NodeRedisClient;
const url = "https://issuer.example/introspect";

// @ts-expect-error -- a store is required
sharedRevocation();
// @ts-expect-error -- a client of Redis is not a store: write redisStore(client)
sharedRevocation(client);
// @ts-expect-error -- a failure of the store is refused or accepted
sharedRevocation(memoryStore(), { whenDown: "ignore" });
// @ts-expect-error -- memory is always fresh
inMemoryRevocation({ freshMs: 500 });
// @ts-expect-error -- a store is not an object that knows what is revoked
createResourceServer({ revocation: memoryStore() });

// @ts-expect-error -- a URL is not a client
redisStore("redis://localhost");
// @ts-expect-error -- the name of the option is `maxEntries`
memoryStore({ max: 1_000 });
// @ts-expect-error -- a store is required
createReplays();
// @ts-expect-error -- without `await`, each value would be a new one
if (createReplays(memoryStore()).remember("id-1", new Date())) console.log("new");
// @ts-expect-error -- a time is a date
void createReplays(memoryStore()).remember("id-1", 300);

// @ts-expect-error -- keys are recognized by their prefix
apiKeys({ find: () => undefined });
// @ts-expect-error -- a record has the hash of a key, and not the key
apiKeys({ prefix: "acme", find: (id) => ({ id, key: "secret", scopes: [] }) });
// @ts-expect-error -- every key has an owner
createApiKey({ prefix: "acme", name: "deploy", scopes: ["agents:read"] });
// @ts-expect-error -- scopes are an array
createApiKey({ prefix: "acme", name: "deploy", scopes: "agents:read", ownerId: "user-1" });
// @ts-expect-error -- opaque tokens are kinds, and not one kind
createResourceServer({ opaqueTokens: apiKeys({ prefix: "acme", find: () => undefined }) });

// @ts-expect-error -- an endpoint answers only clients that it knows
introspection({ url });
// @ts-expect-error -- a client proves who it is
introspection({ url, client: { id: "agents-prod" } });
// @ts-expect-error -- with a key, the algorithm is required
introspection({ url, client: { id: "agents-prod", privateKey: "-----BEGIN PRIVATE KEY-----" } });
