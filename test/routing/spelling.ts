/** A way to write a path that some router, proxy or parser may read as the same path or as another one. */
export interface Spelling {
  readonly name: string;
  /** Returns spellings of a path that starts with a slash, is plain ASCII and has no query. */
  readonly write: (path: string) => readonly string[];
}

/** The name of the unchanged spelling. */
export const CANONICAL = "canonical";
