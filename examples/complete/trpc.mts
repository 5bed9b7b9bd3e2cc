/** Has a rule for each procedure of a tRPC router. */
import { initTRPC } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import express from "express";
import { createResourceServer } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { protect } from "scopegate/express";
import * as trpc from "scopegate/trpc";

const t = initTRPC.context<trpc.TrpcContext>().create();
const router = t.router({
  health: t.procedure.query(() => "ok"),
  whoami: t.procedure.query(({ ctx }) => ctx.principal?.userId),
  order: {
    add: t.procedure.mutation(({ ctx }) => `added by ${ctx.principal?.userId}`),
    removeAll: t.procedure.mutation(() => "removed"),
  },
});

const server = createResourceServer({
  serviceId: "orders",
  verificationKeys: [process.env["JWT_PUBLIC_KEY"]!],
  requiredClaims: ["exp"],
  scopeMappings: {
    "GET /trpc/health": "public",
    "GET /trpc/whoami": [],
    "POST /trpc/order.add": ["orders:write"],
    "POST /trpc/order.removeAll": ["orders:admin"],
  },
  batches: trpc.trpcBatches(),
});

const createContext = trpc.protect(server, { prefix: "/trpc" });
const app = express();
app.use(protect(server)); // 1. the guard of the HTTP framework
app.use("/trpc", createExpressMiddleware({ router, createContext })); // 2. one rule for each call

// Refuses to start if a procedure has no rule.
audit(server, await routesOf(router, { prefix: "/trpc" })).orThrow();
app.listen(3000);
