/** The body that the option `refusalBody` creates for a refusal. */
import type { Refused } from "../policy/decision.ts";
import { ignoreRejection } from "../runtime/pending.ts";
import type { Problem } from "./problem.ts";

/** What `refusalBody` returns. */
export interface RefusalBody {
  /** The media type, up to 200 characters: `application/json`. */
  readonly contentType: string;
  /** Sent as it is, or, for an object, as JSON. */
  readonly body: string | object;
}

/** Creates the body of a refusal. `problem` is the standard body, and is safe to send. */
export type RefusalBodyFunction = (problem: Problem, decision: Refused) => RefusalBody;

/** A body that can be sent, or what is wrong with the result of the function. */
export type CreatedBody =
  | { readonly kind: "body"; readonly contentType: string; readonly content: string }
  | { readonly kind: "mistake"; readonly message: string };

/** A type, a subtype and parameters (RFC 9110 section 8.3.1), in printable ASCII. */
const MEDIA_TYPE = /^[\w!#$%&'*+\-.^`|~]+\/[\w!#$%&'*+\-.^`|~]+(?: *;[\x20-\x7e]*)?$/;
const MAX_TYPE_LENGTH = 200;

/** Calls the function, and checks its result. Never throws, whatever the function does. */
export function createBody(create: RefusalBodyFunction, problem: Problem, decision: Refused): CreatedBody {
  try {
    const created: unknown = create(problem, decision);
    if (typeof created !== "object" || created === null) return bodyMistake("didn't return an object");
    if (isPromise(created)) return bodyMistake("returned a promise");
    const { contentType, body } = created as { readonly contentType?: unknown; readonly body?: unknown };
    if (
      typeof contentType !== "string" ||
      contentType.length > MAX_TYPE_LENGTH ||
      !MEDIA_TYPE.test(contentType)
    )
      return bodyMistake("didn't return a media type as `contentType`");
    const content = renderContent(body);
    if (content === undefined) return bodyMistake("didn't return a string or a JSON object as `body`");
    return { kind: "body", contentType, content };
  } catch {
    return bodyMistake("threw");
  }
}

function renderContent(body: unknown): string | undefined {
  if (typeof body === "string") return body;
  if (typeof body !== "object" || body === null || isPromise(body)) return undefined;
  return JSON.stringify(body);
}

/** Recognizes a promise, and ignores its rejection. */
function isPromise(value: object): boolean {
  if (typeof Reflect.get(value, "then") !== "function") return false;
  ignoreRejection(value);
  return true;
}

const bodyMistake = (what: string): CreatedBody => ({
  kind: "mistake",
  message: `\`refusalBody\` ${what}, so refusals have their standard body.`,
});
