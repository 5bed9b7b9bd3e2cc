import * as z from "zod";
import { isProblem, problem, type Problem } from "./problem.ts";

export interface Session {
  readonly session_id: string;
  readonly name: string;
}

/** The sessions of all tokens. The table decides which one a caller may use: that of its own token. */
export interface Sessions {
  readonly size: number;
  /** Starts the session of a token, which its issuer has given an id. */
  start(id: string | undefined, body: unknown): Session | Problem;
  /** Lists those of these sessions that were started. */
  list(ids: ReadonlySet<string>): readonly Session[];
  read(id: string): Session | Problem;
  rename(id: string, body: unknown): Session | Problem;
  /** Deletes a session and returns it. */
  delete(id: string): Session | Problem;
}

/** With the `u` flag the limit counts characters rather than UTF-16 code units. */
const sessionBodySchema = z.object({ name: z.string().regex(/^.{1,200}$/su) });

/** Creates an empty store of sessions, kept in memory. */
export function createSessions(): Sessions {
  const sessions = new Map<string, Session>();

  const save = (session: Session): Session => {
    sessions.set(session.session_id, session);
    return session;
  };

  const read = (id: string): Session | Problem => sessions.get(id) ?? problem(404, "No session has this id.");

  return {
    get size() {
      return sessions.size;
    },
    start(id, body) {
      if (!id) return problem(403, "The token has no session.");
      const name = readName(body);
      return typeof name === "string" ? save({ session_id: id, name }) : name;
    },
    list: (ids) => [...sessions.values()].filter(({ session_id }) => ids.has(session_id)),
    read,
    rename(id, body) {
      const session = read(id);
      if (isProblem(session)) return session;
      const name = readName(body);
      return typeof name === "string" ? save({ ...session, name }) : name;
    },
    delete(id) {
      const session = read(id);
      if (!isProblem(session)) sessions.delete(id);
      return session;
    },
  };
}

function readName(body: unknown): string | Problem {
  const parsed = sessionBodySchema.safeParse(body);
  return parsed.success
    ? parsed.data.name
    : problem(400, "The body must be a JSON object with `name`, a string of 1 to 200 characters.");
}
