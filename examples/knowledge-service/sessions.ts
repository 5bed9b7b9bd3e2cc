import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Ownership } from "scopegate";
import { isProblem, problem, type Problem } from "./problem.ts";

export interface Session {
  readonly session_id: string;
  readonly name: string;
  readonly user_id: string;
}

/** The sessions of all users. Each operation only sees those that its caller may see. */
export interface Sessions {
  readonly size: number;
  create(userId: string | undefined, body: unknown): Session | Problem;
  list(whose: Ownership): readonly Session[] | Problem;
  read(whose: Ownership, id: string): Session | Problem;
  rename(whose: Ownership, id: string, body: unknown): Session | Problem;
  /** Deletes a session and returns it. */
  delete(whose: Ownership, id: string): Session | Problem;
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

  /** Returns the same 404 for another user's session as for an unknown one, so that ids cannot be probed. */
  const read = (whose: Ownership, id: string): Session | Problem => {
    if (whose.kind === "none") return ownerless();
    const session = sessions.get(id);
    return session && isVisible(session, whose) ? session : problem(404, "No session has this id.");
  };

  return {
    get size() {
      return sessions.size;
    },
    create(userId, body) {
      if (!userId) return ownerless();
      const name = readName(body);
      if (typeof name !== "string") return name;
      return save({ session_id: randomUUID(), name, user_id: userId });
    },
    list(whose) {
      if (whose.kind === "none") return ownerless();
      return [...sessions.values()].filter((session) => isVisible(session, whose));
    },
    read,
    rename(whose, id, body) {
      const session = read(whose, id);
      if (isProblem(session)) return session;
      const name = readName(body);
      return typeof name === "string" ? save({ ...session, name }) : name;
    },
    delete(whose, id) {
      const session = read(whose, id);
      if (!isProblem(session)) sessions.delete(id);
      return session;
    },
  };
}

const isVisible = ({ user_id }: Session, whose: Ownership): boolean =>
  whose.kind === "all" || (whose.kind === "owner" && whose.id === user_id);

function readName(body: unknown): string | Problem {
  const parsed = sessionBodySchema.safeParse(body);
  return parsed.success
    ? parsed.data.name
    : problem(400, "The body must be a JSON object with `name`, a string of 1 to 200 characters.");
}

const ownerless = (): Problem => problem(403, "Sessions belong to users, but the token has no user.");
