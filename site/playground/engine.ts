/** Decides a request as the library does, because it is the library: `explain` and `server.refuse` of a bundle. */
import { callerConditions } from "../../src/capabilities/conditions/index.ts";
import { explain } from "../../src/capabilities/explain/index.ts";
import { remoteKeys } from "../../src/capabilities/keys/index.ts";
import {
  ConfigurationError,
  createResourceServer,
  type Refused,
  type ResourceServer,
  type ScopeMappings,
} from "../../src/index.ts";
import { stepsOf } from "../../src/tools/page/steps.ts";
import { readTable } from "./read-table.ts";

/** What the reader entered. */
export interface Question {
  /** The rules, as an object, JSON or YAML. */
  readonly table: string;
  readonly method: string;
  readonly path: string;
  /** The scopes of the token, with spaces between them. `null` for a request without a token. */
  readonly scopes: string | null;
  /** Other claims of the token as JSON, for conditions. */
  readonly claims: string;
}

export type Step = ReturnType<typeof stepsOf>[number];

export interface Mistake {
  readonly place: string;
  readonly message: string;
  readonly fix: string;
}

export interface Refusal {
  readonly status: number;
  readonly reason: string;
  /** The response as text, without fields that every response has. */
  readonly response: string;
}

export type Result =
  | { readonly kind: "mistakes"; readonly mistakes: readonly Mistake[] }
  | {
      readonly kind: "decision";
      /** `undefined` if the request is allowed: then the handler responds. */
      readonly refusal: Refusal | undefined;
      readonly steps: readonly Step[];
      readonly text: string;
    };

const mistakeIn = (place: string, message: string, fix = ""): Result => ({
  kind: "mistakes",
  mistakes: [{ place, message, fix }],
});

/** Decides, and reports what the library can't read as a mistake instead of an exception. */
export function decide(question: Question): Result {
  try {
    return decideQuestion(question);
  } catch (error) {
    return mistakeIn("The table or the claims", error instanceof Error ? error.message : String(error));
  }
}

function decideQuestion({ table: written, method, path, scopes, claims: writtenClaims }: Question): Result {
  const read = readTable(written);
  if (read.kind === "mistake") return mistakeIn("The table", read.message);
  const claims = readClaims(writtenClaims);
  if (claims === undefined)
    return mistakeIn("The claims", "must be a JSON object.", 'Write { "org_id": "acme" }.');
  if (Object.hasOwn(claims, "cnf"))
    return mistakeIn("The claims", "bind the token to a key, which can't be tried here.", "Remove `cnf`.");
  const created = create(read.table);
  if ("kind" in created) return created;
  const caller =
    scopes === null ? {} : { scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ""), claims };
  const explanation = explain(created, { method, path, ...caller });
  const { decision, text } = explanation;
  const steps = stepsOf(explanation);
  return decision.allowed
    ? { kind: "decision", steps, text, refusal: undefined }
    : { kind: "decision", steps, text, refusal: readRefusal(created, decision) };
}

function readRefusal(server: ResourceServer, decision: Refused): Refusal {
  const { status, headers, body } = server.refuse(decision);
  const challenge = headers["WWW-Authenticate"];
  const fields = challenge === undefined ? [] : [`WWW-Authenticate: ${challenge}`];
  const lines = [`HTTP/1.1 ${status}`, ...fields, "", JSON.stringify(body, null, 2)];
  return { status, reason: decision.reason, response: lines.join("\n") };
}

function readClaims(written: string): Readonly<Record<string, unknown>> | undefined {
  if (written.trim() === "") return {};
  try {
    const claims: unknown = JSON.parse(written);
    return typeof claims === "object" && claims !== null && !Array.isArray(claims)
      ? (claims as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Creates a server that never verifies a token, so it never fetches these keys. */
function create(scopeMappings: ScopeMappings): ResourceServer | Result {
  try {
    return createResourceServer({
      verifyAudience: false,
      keys: remoteKeys({ jwksUri: "https://login.example/keys" }),
      scopeMappings,
      conditions: callerConditions(),
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const mistakes = error.issues.map(({ path, message, hint }) => ({
      place: path.slice(1).join(" ") || "The table",
      message,
      fix: hint,
    }));
    return { kind: "mistakes", mistakes };
  }
}
