import { type Algorithm } from "./algorithm.ts";
import { type KeyEvent } from "./key-event.ts";

/** What the keys of a source are for, and who is told of them. */
export interface KeyUse {
  readonly algorithms: readonly Algorithm[];
  readonly issuer: string | undefined;
  /** Where the source stands in the options. */
  readonly path: readonly (string | number)[];
  readonly now: () => number;
  readonly onKeyEvent: (event: KeyEvent) => void;
}
