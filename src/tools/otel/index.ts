/** `scopegate/otel`: metrics and span events for OpenTelemetry, from the diagnostics channels. */
import {
  type Attributes,
  type BatchObservableResult,
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  type Observable,
  trace,
} from "@opentelemetry/api";
import { assertResourceServer } from "../../adapters/shared/misuse.ts";
import type { Health } from "../../core/health.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import type { OptionChecks } from "../../core/options/option-checks.ts";
import type { KeyEvent, KeyState } from "../../core/keys/key-event.ts";
import type { DecisionMessage } from "../../core/observer.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Decision, Refused } from "../../core/policy/decision.ts";
import { hasPipeline } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { CACHE_CHANNEL, DECISION_CHANNEL, KEYS_CHANNEL, listen } from "../../core/runtime/channels.ts";
import type { CacheEvent } from "../../core/token/token-cache.ts";

/** The options of `startTelemetry`. */
export interface TelemetryOptions {
  /** Creates the instruments. Default: the global meter provider; register it before the call. */
  readonly meterProvider?: MeterProvider;
}

const OPTIONS: OptionChecks<TelemetryOptions> = {
  meterProvider: {
    accepts: (provider) => typeof (Object(provider) as Partial<MeterProvider>).getMeter === "function",
    hint: "Write a meter provider of OpenTelemetry, an object with `getMeter`.",
  },
};

/** One server, or several by names of your choice, which become the attribute `scopegate.server`. */
export type MeasuredServers = ResourceServer | Readonly<Record<string, ResourceServer>>;

/** Providers already in use. Starting twice with one would count everything twice. */
const inUse = new Set<MeterProvider>();
const ALREADY_STARTED =
  "startTelemetry is already running with this meter provider. Pass all servers in one call: startTelemetry({ api, admin }).";
const NO_PROVIDER = "startTelemetry found no meter provider: register one first, or pass `meterProvider`.";

/**
 * Counts the decisions, cache events and key events of all servers in this process, measures the keys, caches
 * and stores of the given servers, and adds an event to the active span of each refused request. Returns a
 * function that stops measuring. Attributes contain keys of the table and sources of keys, but no paths and
 * no parts of tokens. It creates no spans and exports nothing itself. A failing exporter affects no response.
 *
 * @throws TypeError for anything but resource servers, and Error if it's already running with this meter
 *   provider
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { startTelemetry } from "scopegate/otel";
 *
 * const verificationKeys = [process.env.JWT_PUBLIC_KEY!];
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys });
 * const stopTelemetry = startTelemetry(server); // call it in your shutdown handler
 * ```
 */
export function startTelemetry(servers: MeasuredServers, options: TelemetryOptions = {}): () => void {
  checkOptions("startTelemetry", options, OPTIONS);
  const { meterProvider = metrics.getMeterProvider() } = options;
  const named = readServers(servers);
  if (inUse.has(meterProvider)) throw new Error(ALREADY_STARTED);
  const meter = meterProvider.getMeter("scopegate");
  // createNoopMeter always returns the same object.
  if (meter === createNoopMeter()) process.emitWarning(NO_PROVIDER, "ScopegateWarning");
  const ends = [...countEvents(meter), observeServers(meter, named), () => void inUse.delete(meterProvider)];
  inUse.add(meterProvider);
  let isRunning = true;
  return () => {
    // A second call must not end the measurement of a later start with the same provider.
    if (isRunning) ends.forEach((end) => end());
    isRunning = false;
  };
}

function readServers(servers: MeasuredServers): readonly (readonly [Attributes, ResourceServer])[] {
  const isOne = Object(servers) !== servers || hasPipeline(servers);
  return Object.entries(isOne ? { "": servers } : servers).map(([name, server]) => {
    assertResourceServer(server, "startTelemetry");
    return [isOne ? {} : { "scopegate.server": name }, server];
  });
}

function countEvents(meter: Meter): readonly (() => void)[] {
  // A remembered token takes microseconds, and a key fetch at most five seconds by default (`timeoutMs`).
  const bounds = [1e-5, 1e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
  const timing = { unit: "s", advice: { explicitBucketBoundaries: bounds } };
  const count = (name: string, unit: string, description: string) =>
    meter.createCounter(`scopegate.${name}`, { unit, description });
  const time = (name: string, description: string) =>
    meter.createHistogram(`scopegate.${name}`, { ...timing, description });
  const decisions = count("decisions", "{decision}", "Decisions, by result, reason and rule");
  const durations = time("decision.duration", "Time to decide, with key fetches");
  const verifications = time("verification.duration", "Time to verify a token that isn't remembered");
  const cacheEvents = count("cache.events", "{event}", "Hits, misses and evictions of the token cache");
  const keyEvents = count("keys.events", "{event}", "Fetches, failures and rotations of keys");
  return [
    listen(DECISION_CHANNEL, ({ decision, event }: DecisionMessage) => {
      const attributes = attributesOf(decision);
      decisions.add(1, attributes);
      durations.record(event.durationMs / 1000, { "scopegate.result": attributes["scopegate.result"] });
      if (attributes["scopegate.reason"]) trace.getActiveSpan()?.addEvent("scopegate.decision", attributes);
    }),
    listen(CACHE_CHANNEL, ({ type, durationMs }: CacheEvent) => {
      cacheEvents.add(1, { "scopegate.cache.event": type });
      if (durationMs !== undefined) verifications.record(durationMs / 1000);
    }),
    listen(KEYS_CHANNEL, (event: KeyEvent) =>
      keyEvents.add(1, { ...sourceOf(event), "scopegate.keys.event": event.type }),
    ),
  ];
}

const KEY_STATES: Readonly<Record<KeyState, true>> = {
  fresh: true,
  stale: true,
  unavailable: true,
  "not loaded": true,
};

function observeServers(meter: Meter, named: ReturnType<typeof readServers>): () => void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(`scopegate.${name}`, { unit, description });
  const entries = gauge("cache.entries", "{entry}", "Remembered tokens");
  const bytes = gauge("cache.size", "By", "Estimated memory of remembered tokens");
  const states = gauge("keys.state", "1", "1 for the state of a key source, 0 for others");
  const age = gauge("keys.age", "s", "Time since the keys were last loaded");
  const left = gauge("keys.time_left", "s", "Time until requests get 503, while a key source fails");
  const lookupStates = gauge("lookups.state", "1", "Stores and endpoints in each state");
  const pending = gauge("lookups.pending", "{lookup}", "Tokens that are being looked up");
  const warnings = gauge("revocation.warnings", "{warning}", "Settings that can lose revocations");
  const policies = gauge("policy", "1", "1 for the policy that is in force");
  const observe = (result: BatchObservableResult): void => {
    const report = (to: Observable, value = Number.NaN, attributes: Attributes = {}): void => {
      if (Number.isFinite(value)) result.observe(to, value, attributes);
    };
    // NaN for an unknown time, which `report` omits.
    const secondsSince = (time: Date | undefined): number => (Date.now() - Number(time)) / 1000;
    const secondsUntil = (time: Date | undefined): number => (Number(time) - Date.now()) / 1000;
    for (const [serverAttributes, server] of named) {
      const health = server.health();
      const { cache, keys, revocation } = health;
      report(policies, 1, { ...serverAttributes, "scopegate.policy": health.policy });
      report(entries, cache?.entries, serverAttributes);
      report(bytes, cache?.bytes, serverAttributes);
      for (const status of keys) {
        const { state, lastSuccess, staleUntil } = status;
        const attributes = { ...serverAttributes, ...sourceOf(status) };
        for (const possible of Object.keys(KEY_STATES))
          report(states, Number(possible === state), { ...attributes, "scopegate.keys.state": possible });
        report(age, secondsSince(lastSuccess), attributes);
        report(left, state === "unavailable" ? 0 : secondsUntil(staleUntil), attributes);
      }
      report(warnings, revocation && (revocation.warnings?.length ?? 0), serverAttributes);
      const lookups = lookupsOf(health);
      for (const of of new Set(lookups.map((lookup) => lookup.of))) {
        const same = lookups.filter((lookup) => lookup.of === of);
        const attributes = { ...serverAttributes, "scopegate.lookups.of": of };
        for (const possible of LOOKUP_STATES) {
          const count = same.filter(({ state }) => state === possible).length;
          report(lookupStates, count, { ...attributes, "scopegate.lookups.state": possible });
        }
        const underWay = same.reduce((sum, lookup) => sum + (lookup.underWay ?? Number.NaN), 0);
        report(pending, underWay, attributes);
      }
    }
  };
  const gauges = [entries, bytes, states, age, left, lookupStates, pending, warnings, policies];
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}

const LOOKUP_STATES = ["ok", "degraded", "unavailable"] as const;

/** A store or an endpoint that a server asks about tokens. */
interface Lookup {
  readonly of: string;
  readonly state: Health["status"];
  readonly underWay?: number;
}

function lookupsOf({ revocation, opaqueTokens = [], replayFault }: Health): readonly Lookup[] {
  const lookups: Lookup[] = opaqueTokens.map(({ tokenKind, ...status }) => ({ of: tokenKind, ...status }));
  if (revocation) lookups.push({ of: "revocation", state: revocation.state });
  if (replayFault !== undefined) lookups.push({ of: "replay", state: "degraded" });
  return lookups;
}

/** The rule is a key of the table, so clients can't add attribute values. */
function attributesOf(decision: Decision): Attributes {
  const { rule, principal, shadow } = decision;
  const refused = decision.allowed ? undefined : decision;
  const reasonOfShadow = (Object(shadow) as Partial<Refused>).reason;
  const resultOfShadow = shadow === "undecided" ? shadow : "allowed";
  return compact({
    "scopegate.result": refused ? "refused" : "allowed",
    "scopegate.reason": refused?.reason,
    "scopegate.rejection": refused?.rejection,
    "scopegate.condition": refused?.condition,
    "scopegate.proof": refused?.proofRejection,
    "scopegate.shadow": shadow && (reasonOfShadow ?? resultOfShadow),
    "scopegate.bound": principal?.binding ?? refused?.binding,
    "scopegate.rule": rule?.key,
    // Only whether there's an actor: an issuer can name any number of actors.
    "scopegate.delegated": principal?.actor && true,
  });
}

const sourceOf = ({ source, issuer }: Pick<KeyEvent, "source" | "issuer">): Attributes => {
  const named = { "scopegate.keys.source": source };
  return issuer === undefined ? named : { ...named, "scopegate.keys.issuer": issuer };
};
