import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Principal } from "scopegate";
import { isProblem, problem, type Problem } from "./problem.ts";

export interface Session {
  readonly session_id: string;
  readonly name: string;
  readonly user_id: string;
}

/** The sessions of all users. The table decides which one a caller may use: that of its token. */
export interface Sessions {
  readonly size: number;
  /** Starts a session of a user, with the id that its token has for it. */
  start(caller: Pick<Principal, "userId" | "sessionId">, body: unknown): Session | Problem;
  list(userId: string | undefined): readonly Session[] | Problem;
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
    start({ userId, sessionId = randomUUID() }, body) {
      if (!userId) return ownerless();
      const name = readName(body);
      return typeof name === "string" ? save({ session_id: sessionId, name, user_id: userId }) : name;
    },
    list: (userId) =>
      userId ? [...sessions.values()].filter(({ user_id }) => user_id === userId) : ownerless(),
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

const ownerless = (): Problem => problem(403, "Sessions belong to users, but the token has no user.");
