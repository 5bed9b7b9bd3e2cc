import { forOperations } from "../../capabilities/batches/rules.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { pipelineOf } from "../../core/port.ts";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { Refusal } from "../../core/response/refusal.ts";
import { isPending } from "../../core/runtime/pending.ts";
import type { Principal } from "../../core/token/principal.ts";
import { verdictOf } from "../shared/guard.ts";
import { guardOperations } from "../shared/guard-operations.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import type { NodeResponse } from "../shared/node-response.ts";
import { createPathOf, TRPC_OPTIONS, type TrpcOptions } from "./procedure-path.ts";

export { type TrpcOptions };
export { type Batches, trpcBatches } from "../../capabilities/batches/index.ts";

/** The part of the options of `createContext` that is read. It's the same in all adapters of tRPC. */
export interface TrpcContextOptions {
  /** The request that the guard has decided: of Node.js, Express, Fastify or the Fetch standard. */
  readonly req: object;
  /** What tRPC is about to run. */
  readonly info: {
    /** Each procedure, by its name with dots. */
    readonly calls: readonly { readonly path: string }[];
  };
  /** The response of Node.js, Express or Fastify. */
  readonly res?: object;
  /** The headers of the response, in the adapter for the Fetch standard. */
  readonly resHeaders?: Pick<Headers, "append">;
}

/** The context of a procedure; add your own properties to it. */
export interface TrpcContext {
  /** The caller; `undefined` if every procedure is public, or optional and no token was sent. */
  readonly principal: Principal | undefined;
}

/**
 * Protects the procedures of a tRPC router: pass the function that it returns as `createContext`. Before any
 * procedure runs, the rule for each of them is checked, such as `POST /trpc/user.remove`. All of them run, or
 * none. If you add to the context, `await` the function: `{ ...(await protectedContext(options)), db }`.
 *
 * It needs `protect(server)` of the HTTP framework before the router. A batch is decided by the rules for its
 * procedures, so the table needs no rule for the path of the batch. Without the option `batches`, it's
 * refused. Refusals of `createContext` are tRPC errors. Refusals of the HTTP guard are problem details.
 *
 * It doesn't protect calls over WebSockets, which are made after `createContext`: it throws there.
 *
 * @throws TypeError for anything but a resource server
 * @throws ConfigurationError without `prefix`, and for every other mistake in the options
 * @example
 * ```ts
 * import { createExpressMiddleware } from "@trpc/server/adapters/express";
 * import { initTRPC } from "@trpc/server";
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protect } from "scopegate/express";
 * import * as trpc from "scopegate/trpc";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /trpc/whoami": [] },
 *   batches: trpc.trpcBatches(),
 * });
 * const t = initTRPC.context<trpc.TrpcContext>().create();
 * const router = t.router({ whoami: t.procedure.query(({ ctx }) => ctx.principal?.userId) });
 * const createContext = trpc.protect(server, { prefix: "/trpc" });
 * express().use(protect(server)).use("/trpc", createExpressMiddleware({ router, createContext }));
 * ```
 */
export function protect(
  server: ResourceServer,
  options: TrpcOptions,
): (options: TrpcContextOptions) => TrpcContext | Promise<TrpcContext> {
  assertResourceServer(server);
  checkOptions("protect", options, TRPC_OPTIONS);
  const pathOf = createPathOf(options);
  pipelineOf(server).policy.table.batches?.declare(pathOf("").slice(0, -1));
  return (call) => {
    const { req, info } = call;
    const calls = (info as TrpcContextOptions["info"] | undefined)?.calls ?? [];
    if (calls.length === 0) throw new Error(NO_CALLS);
    const raw = ((req as { readonly raw?: object }).raw ?? req) as { readonly method?: string };
    const targets = [...new Set(calls.map(({ path }) => path))].map(pathOf);
    const { method = "" } = raw;
    const pending = guardOperations(server, raw, (pipeline, verdict) => {
      const request = { ...verdict.request, method };
      return pipeline.decideAgain(
        verdict,
        (ofPath, { table }) => forOperations(table, ofPath, method, targets),
        request,
      );
    });
    const conclude = (refusal: Refusal | undefined): TrpcContext => {
      if (!refusal) return { principal: verdictOf(raw, server)?.principal };
      const { [CHALLENGE_FIELD]: challenge } = refusal.headers;
      if (challenge !== undefined) addChallenge(call, challenge);
      throw toTrpcError(refusal);
    };
    // A refusal that needs no promise is thrown at once, even if the caller forgets to await it.
    return isPending(pending) ? pending.then(conclude) : conclude(pending);
  };
}

function addChallenge({ res, resHeaders }: TrpcContextOptions, challenge: string): void {
  const { raw } = Object(res) as { readonly raw?: object };
  const response = (raw ?? res) as Pick<NodeResponse, "appendHeader"> | undefined;
  response?.appendHeader?.(CHALLENGE_FIELD, challenge);
  resHeaders?.append(CHALLENGE_FIELD, challenge);
}

const CODES: Readonly<Record<number, string>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  503: "SERVICE_UNAVAILABLE",
};

/** tRPC accepts any error with this name as its own, so its class needn't be imported. */
const toTrpcError = ({ status, problem }: Refusal): Error =>
  Object.assign(new Error(problem.detail), { name: "TRPCError", code: CODES[status] });

const NO_CALLS =
  "tRPC didn't report which procedures it runs, so no rule can be checked. protect of \"scopegate/trpc\" is for HTTP with @trpc/server 11: it can't protect calls over WebSockets.";
