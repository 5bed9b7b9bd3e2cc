export { type DecisionLog, decisionLog } from "./decision-log.ts";
export type { DecisionSink } from "./line-queue.ts";
export type { DecisionLogOptions } from "./record.ts";
