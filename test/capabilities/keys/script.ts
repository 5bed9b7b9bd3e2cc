/**
 * Scripts of (time, event, expected) for key sources. The clock, the timers and the issuer change only with
 * the events of a script.
 */
import { expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import type { KeyFetch, KeySource } from "scopegate/complete";
import type { JsonWebKey } from "../../../src/core/keys/verification-key.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { withKid } from "../../support/remote-keys.ts";
import { createServer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { useOwnTimers } from "../../support/timers.ts";

export const SET_URL = "https://issuer.example/jwks";
const START = NOW * 1000;

const firstToken = await first.token();
const secondToken = await second.token();
const elliptic = createIssuer({ algorithm: "ES256", kid: "first" });
let unknowns = 0;

/** Events that send a token. Their outcome is the verdict. */
const TOKENS = {
  first: () => firstToken,
  second: () => secondToken,
  "first without kid": () => first.token({}, { kid: undefined }),
  "second as first": () => second.token({}, { kid: "first" }),
  "forged first": () => withKid(secondToken, "first"),
  "elliptic as first": () => elliptic.token(),
  "elliptic without kid": () => elliptic.token({}, { kid: undefined }),
  /** Each has a `kid` of its own. */
  unknown: () => withKid(firstToken, `unknown-${(unknowns += 1)}`),
} as const;

const withoutKid = ({ kid: _, ...jwk }: JsonWebKey): JsonWebKey => jwk;

/** The sets of keys that the issuer can publish. */
const SETS = {
  first: [first.publicJwk],
  second: [second.publicJwk],
  "first and second": [first.publicJwk, second.publicJwk],
  "second and first": [second.publicJwk, first.publicJwk],
  "second as first": [{ ...second.publicJwk, kid: "first" }],
  "first without kid": [withoutKid(first.publicJwk)],
  "first, and second without kid": [first.publicJwk, withoutKid(second.publicJwk)],
  "no keys": [],
  "a weak key": [{ ...first.publicJwk, e: "AQ" }],
  "an elliptic key": [elliptic.publicJwk],
} as const;

type Token = keyof typeof TOKENS;
type Event =
  | Token
  /** Sends that many tokens at once. */
  | `${number} ${Token}`
  | `publish ${keyof typeof SETS}`
  | `status ${number}`
  /** That many milliseconds pass during the next request. */
  | `sleep ${number} in a request`
  /** From now on, responses wait for `respond`. */
  | "hold"
  /** The same, with a `fetch` that ignores its signal. */
  | "hold and ignore aborts"
  | "respond"
  | "respond and hold"
  /** Runs the timers up to the time of the step. All other events set the clock without running timers. */
  | "wait"
  | "count timers"
  | "clock throws"
  | "clock returns NaN"
  | "clock works"
  | "ready"
  | "refresh"
  | "close"
  | "show state"
  | "show Retry-After"
  /** Sends `first`, and shows why the keys are unavailable. */
  | "show cause"
  | (() => void);

/** Expected are requests, aborts of requests and key events, in their order, and then the sorted outcomes. */
export type Step = readonly [timeMs: number, event: Event, expected: string];

interface Scene {
  /** The options of the key source, or another key source. */
  readonly keys?: object;
  readonly options?: Partial<ResourceServerOptions>;
}

/** Defines a test that plays a script. The issuer publishes the key of `first` until an event changes that. */
export function itPlays(title: string, ...parts: readonly [...([Scene] | []), readonly Step[]]): void {
  const [scene, script] = parts.length === 1 ? [{}, parts[0]] : parts;
  it(title, () => play(scene, script));
}

/** Reached only by a script that fails. */
const MAX_TURNS = 100_000;

async function play({ keys = {}, options = {} }: Scene, script: readonly Step[]): Promise<void> {
  const timers = useOwnTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: START });
  // Timers are not shortened.
  vi.spyOn(Math, "random").mockReturnValue(0);
  const observed: string[] = [];
  const outcomes: string[] = [];
  let clock = (): number => Date.now();
  const issuer = createScriptedIssuer(observed);
  const source = "jwksFile" in keys ? keys : { jwksUri: SET_URL, fetch: issuer.fetch, ...keys };
  const server = timers.run(() =>
    createServer({
      keys: source as KeySource,
      now: () => clock(),
      onKeyEvent: ({ type }) => void observed.push(type),
      ...options,
    }),
  );
  const perform = createPerformer({
    ...createServerEvents(server),
    ...issuer.events,
    wait: () => undefined,
    "count timers": () => `${timers.count()} timers`,
    "clock throws": () => {
      clock = () => {
        throw new Error("canary");
      };
    },
    "clock returns NaN": () => void (clock = () => Number.NaN),
    "clock works": () => void (clock = () => Date.now()),
  });
  try {
    for (const [time, event, expected] of script) {
      if (event === "wait") await vi.advanceTimersByTimeAsync(START + time - Date.now());
      else vi.setSystemTime(START + time);
      void timers
        .run(() => perform(event))
        .then(
          (outcome) => outcome !== undefined && outcomes.push(outcome),
          (error: unknown) => outcomes.push(`threw ${String(error)}`),
        );
      const shown = () => [...observed, ...outcomes.toSorted()].join(" ");
      for (let turn = 0; turn === 0 || (turn < MAX_TURNS && shown() !== expected); turn += 1)
        await new Promise(setImmediate);
      expect(shown(), `after ${String(event)} at ${time}`).toBe(expected);
      observed.length = 0;
      outcomes.length = 0;
    }
    await new Promise(setImmediate);
    expect([...observed, ...outcomes], "after the script").toEqual([]);
  } finally {
    await server.close();
    vi.useRealTimers();
  }
}

type Outcome = string | undefined;
type Events = Readonly<Record<string, (object: string) => Outcome | Promise<Outcome>>>;

/** A held response contains what the issuer published when it was requested. */
function createScriptedIssuer(observed: string[]): { readonly fetch: KeyFetch; readonly events: Events } {
  const publishing = (name: string) => () => Response.json({ keys: SETS[name as keyof typeof SETS] });
  let create: () => Response = publishing("first");
  let hold: "never" | "until aborted" | "always" = "never";
  let waiting: (() => void)[] = [];
  const fetch: KeyFetch = (_, { signal }) => {
    observed.push("request");
    const response = create();
    if (hold === "never") return Promise.resolve(response);
    const isDeaf = hold === "always";
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        observed.push("aborted");
        if (!isDeaf) reject(new Error("canary"));
      };
      signal.addEventListener("abort", abort);
      waiting.push(() => {
        signal.removeEventListener("abort", abort);
        resolve(response);
      });
    });
  };
  const respond = (): undefined => {
    for (const answer of waiting) answer();
    waiting = [];
  };
  const events: Events = {
    publish: (name) => void (create = publishing(name)),
    status: (code) => void (create = () => new Response(null, { status: Number(code) })),
    sleep: (object) => {
      create = () => {
        vi.setSystemTime(Date.now() + Number.parseInt(object, 10));
        create = publishing("first");
        return create();
      };
    },
    hold: () => void (hold = "until aborted"),
    "hold and ignore aborts": () => void (hold = "always"),
    respond: () => {
      hold = "never";
      respond();
    },
    "respond and hold": respond,
  };
  return { fetch, events };
}

function createServerEvents(server: ResourceServer): Events {
  const shown = (error: unknown) => (error as Error).message.replaceAll(SET_URL, "URL");
  const tokens = Object.entries(TOKENS).map(([name, create]) => {
    const send = async (count: string) => {
      const sent = await Promise.all(Array.from({ length: Number(count) }, async () => create()));
      const verdicts = await Promise.all(sent.map((token) => verdictOf(server, token)));
      return [...new Set(verdicts)].join("/");
    };
    return [name, send] as const;
  });
  return {
    ...Object.fromEntries(tokens),
    ready: () => server.ready().then(() => "ready", shown),
    refresh: () => server.refreshKeys().then(() => "refreshed", shown),
    close: () => void server.close(),
    "show state": () => server.keys.map(({ state, keyIds }) => `${state} [${keyIds.join()}]`).join(),
    "show cause": () =>
      server.authenticate(firstToken).then(
        () => "accepted",
        (error: unknown) => shown((error as Error).cause),
      ),
    "show Retry-After": async () => {
      const authorization = `Bearer ${firstToken}`;
      const decision = await server.check({ method: "GET", target: "/agents", authorization });
      return decision.allowed ? "allowed" : server.refuse(decision).headers["Retry-After"];
    },
  };
}

/** Returns a function that performs an event, and returns its outcome. */
function createPerformer(events: Events): (event: Event) => Promise<Outcome> {
  return async (event) => {
    if (typeof event === "function") {
      event();
      return undefined;
    }
    const [, verb = event, object = ""] = /^(publish|status|sleep) (.*)$/.exec(event) ?? [];
    const [, count = "1", name = verb] = /^(\d+) (.*)$/.exec(verb) ?? [];
    return events[name]?.(object === "" ? count : object);
  };
}
