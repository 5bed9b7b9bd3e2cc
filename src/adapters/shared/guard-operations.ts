import type { PendingVerdict, Pipeline, Verdict } from "../../core/pipeline.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { guardsOf, type PendingRefusal, storeVerdict, toRefusal } from "./guard.ts";

/**
 * Decides a guarded request again for the operations that it calls, each by its own rule: all may run, or
 * none. The guard of the same server must have run.
 */
export const guardOperations = (
  server: ResourceServer,
  raw: object,
  decide: (pipeline: Pipeline, verdict: Verdict) => PendingVerdict,
): PendingRefusal => toRefusal(decideOperations(server, raw, decide), server);

/** Does the same, and returns the verdict instead of the response to a refused request. */
export function decideOperations(
  server: ResourceServer,
  raw: object,
  decide: (pipeline: Pipeline, verdict: Verdict) => PendingVerdict,
): PendingVerdict {
  const guarded = guardsOf(raw).find((candidate) => candidate.server === server);
  if (!guarded?.verdict)
    throw new Error(
      "No guard of this resource server has decided the request. Put protect(server) of your HTTP framework before it, and pass the same server here.",
    );
  const { verdict } = guarded;
  return verdict.isAllowed ? storeVerdict(guarded, decide(pipelineOf(server), verdict)) : verdict;
}

/** Stores an earlier verdict on a request again, so that other operations are decided instead. */
export function restoreVerdict(server: ResourceServer, raw: object, verdict: Verdict): void {
  const guarded = guardsOf(raw).find((candidate) => candidate.server === server);
  if (guarded) guarded.verdict = verdict;
}
