/** What the servers of all frameworks share. */
import { createResourceServer, type Principal } from "scopegate";

export const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /stores": ["stores:<any>:read"],
    "GET /stores/:store_id": ["stores:<store_id>:read"],
    "GET /stores/:store_id/logs": ["stores:<store_id>:read"],
    "POST /orders": ["orders:write"],
    "GET /health": "public",
  },
});

const stores = ["berlin", "oslo"];

/** The stores that a caller may read. */
export function storesFor(caller: Principal | undefined): readonly string[] {
  const ids = caller?.resourceIds("stores", "read");
  return ids === "all" ? stores : stores.filter((id) => ids?.has(id));
}

export function textOf(order: unknown): string {
  const { text } = Object(order) as { text?: unknown };
  if (typeof text !== "string") throw new TypeError("An order needs a `text` string.");
  return text;
}
