/**
 * Runs one configuration with and without the guard, and checks that each caller was allowed to run its
 * handlers.
 */
import { type Configuration, type Guard, NO_GUARD, type Running } from "./configuration.ts";
import { mayRun, neededBy, neededByAll, type Ran, type Scopes, scopesWithout } from "./oracle.ts";
import { type Probe, probesFor, type Scale } from "./probes.ts";
import { RawClient } from "./raw-client.ts";
import { PROBE_HEADER, Recorder } from "./recorder.ts";
import { tokenWith } from "./tokens.ts";

/** A request with a wrong result, with the details to reproduce it. */
export interface Finding {
  readonly request: string;
  readonly spelling: string;
  /** Which scopes the caller had. */
  readonly caller: string;
  readonly status: number;
  /** The `code` of the response body. Empty for HEAD. */
  readonly reason: string;
  readonly ran: readonly string[];
  readonly needed: string;
}

export interface Summary {
  readonly configuration: string;
  readonly requests: number;
  /** A handler ran without the scopes it needs. */
  readonly bypasses: readonly Finding[];
  /** The same, in configurations whose guard is documented as bypassed. */
  readonly documentedBypasses: readonly Finding[];
  /** A 5xx status or no response, although the application without a guard responds normally. */
  readonly serverErrors: readonly Finding[];
  /** A canonical request with sufficient scopes was refused. */
  readonly canonicalRefusals: readonly Finding[];
  /**
   * A request in another spelling that the router serves, and that the guard refuses despite sufficient
   * scopes.
   */
  readonly servedButRefused: readonly Finding[];
}

export interface Observed {
  readonly status: number;
  readonly code: string;
  readonly ran: readonly Ran[];
}

/** The number of concurrent requests. */
const CONNECTIONS = 6;

export async function runConfiguration(
  configuration: Configuration,
  guard: Guard,
  scale: Scale,
): Promise<Summary> {
  const plain = await Application.start(configuration, NO_GUARD);
  const guarded = await Application.start(configuration, guard);
  const summary = {
    configuration: configuration.name,
    bypasses: [] as Finding[],
    documentedBypasses: [] as Finding[],
    serverErrors: [] as Finding[],
    canonicalRefusals: [] as Finding[],
    servedButRefused: [] as Finding[],
  };
  const bypasses = configuration.isOpen ? summary.documentedBypasses : summary.bypasses;
  const examine = async (probe: Probe, lane: number) => {
    const served = await plain.ask(lane, probe, undefined);
    for (const caller of callersFor(served)) {
      const observed = await guarded.ask(lane, probe, caller.scopes);
      const finding = describe(probe, served, observed, caller);
      if (!observed.ran.every((ran) => mayRun(ran, caller.scopes))) bypasses.push(finding);
      if (isFault(observed) && !isFault(served)) summary.serverErrors.push(finding);
      if (!caller.isEnough || served.ran.length === 0 || isSame(served, observed)) continue;
      if (probe.isCanonical) summary.canonicalRefusals.push(finding);
      else if (probe.isListed) summary.servedButRefused.push(finding);
    }
  };
  const [first, ...others] = probesFor(configuration, scale);
  const queue = others.values();
  const work = async (lane: number) => {
    for (const probe of queue) await examine(probe, lane);
  };
  try {
    // Runs before the concurrent requests, so that it really is the first request of the application.
    if (first) await examine(first, 0);
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, lane) => work(lane)));
  } finally {
    await Promise.all([plain.close(), guarded.close()]);
  }
  return { ...summary, requests: plain.requests + guarded.requests };
}

type Asked = Pick<Probe, "method" | "target"> & Partial<Pick<Probe, "headers">>;

/** A running application that receives requests over raw sockets. */
export class Application {
  requests = 0;
  readonly #running: Running;
  readonly #recorder: Recorder;
  readonly #clients: readonly RawClient[];

  private constructor(running: Running, recorder: Recorder) {
    this.#running = running;
    this.#recorder = recorder;
    this.#clients = Array.from({ length: CONNECTIONS }, () => new RawClient(running.port));
  }

  static async start(configuration: Configuration, guard: Guard): Promise<Application> {
    const recorder = new Recorder();
    return new Application(await configuration.start({ guard, recorder }), recorder);
  }

  async ask(lane: number, probe: Asked, scopes: Scopes): Promise<Observed> {
    const id = String((this.requests += 1));
    const headers = [[PROBE_HEADER, id], ["content-length", "0"], ...(probe.headers ?? [])] as [
      string,
      string,
    ][];
    if (scopes) headers.push(["authorization", `Bearer ${await tokenWith(scopes)}`]);
    const answer = await this.#clients[lane]?.ask({ ...probe, headers });
    const code = /"code":"(\w+)"/.exec(answer?.body ?? "")?.[1] ?? "";
    return { status: answer?.status ?? 0, code, ran: this.#recorder.take(id) };
  }

  close(): Promise<unknown> {
    for (const client of this.#clients) client.close();
    return this.#running.close();
  }
}

const EVERY_SCOPE = scopesWithout([]);

interface Caller {
  readonly name: string;
  readonly scopes: Scopes;
  /** Whether the application must allow this caller. */
  readonly isEnough: boolean;
}

/**
 * A caller without a token, callers who each lack the scopes of one handler, and one with exactly the needed
 * scopes.
 */
function callersFor({ ran }: Observed): readonly Caller[] {
  if (ran.length === 0) return [{ name: "every scope", scopes: EVERY_SCOPE, isEnough: false }];
  const isClosed = ran.some((call) => neededBy(call) === "nobody");
  const exact = neededByAll(ran);
  const lacking = new Set(
    ran
      .map(neededBy)
      .filter(isList)
      .map((needs) => scopesWithout(needs)),
  );
  return [
    { name: "no credential", scopes: undefined, isEnough: exact === undefined && !isClosed },
    ...[...lacking].map((scopes) => ({ name: "every scope but the needed ones", scopes, isEnough: false })),
    ...(exact ? [{ name: "the needed scopes", scopes: exact, isEnough: !isClosed }] : []),
    ...(isClosed ? [{ name: "every scope", scopes: EVERY_SCOPE, isEnough: false }] : []),
  ];
}

const isList = (needs: unknown): needs is readonly string[] => Array.isArray(needs) && needs.length > 0;

const isFault = ({ status }: Observed): boolean => status === 0 || status >= 500;

const isSame = (served: Observed, observed: Observed): boolean =>
  served.status === observed.status && namesOf(served).join() === namesOf(observed).join();

const namesOf = ({ ran }: Observed): readonly string[] => ran.map(({ handler }) => handler);

function describe(probe: Probe, served: Observed, observed: Observed, caller: Caller): Finding {
  const target = probe.target.length > 120 ? `${probe.target.slice(0, 120)}...` : probe.target;
  const needs = (observed.ran.length > 0 ? observed : served).ran.map(neededBy);
  return {
    request: `${probe.method} ${target}`,
    spelling: probe.spelling,
    caller: caller.name,
    status: observed.status,
    reason: observed.code,
    ran: observed.ran.map(({ handler, params }) => `${handler} ${JSON.stringify(params)}`),
    needed: JSON.stringify(needs),
  };
}
