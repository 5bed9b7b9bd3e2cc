/** How a path can be written so that some router, proxy or parser still takes it for the same one, or for another. */
export interface Spelling {
  readonly name: string;
  /** Spellings of a path. It begins with a slash, is plain ASCII, and has no query. */
  readonly write: (path: string) => readonly string[];
}

/** The name of the plain spelling. */
export const CANONICAL = "canonical";
