import type { ConfigurationIssue, Report } from "../errors.ts";
import type { ResourceServerOptions } from "./options.ts";
import type { ShapeMistake } from "./schema.ts";

export type Path = ConfigurationIssue["path"];
export type OptionName = keyof ResourceServerOptions;

/** Collects the mistakes in the options, and knows which options can still be read. */
export class Mistakes {
  readonly issues: ConfigurationIssue[] = [];
  /** Options, entries of `issuers`, and options of entries, as paths such as `issuers.0.keys`. */
  readonly #unreadable = new Set<string>();

  readonly report: Report = (issue) => void this.issues.push(issue);

  /** Reports an option whose value has the wrong shape. */
  reportShape({ issue, meantOptions }: ShapeMistake): void {
    this.report(issue);
    const { path } = issue;
    this.#unreadable.add(pathText(path.slice(0, path[0] === "issuers" ? 3 : 1)));
    for (const name of meantOptions) this.#unreadable.add(name);
  }

  /**
   * Returns whether all these options have the right shape. If not, checking them would report the same
   * mistake again. For an entry of `issuers`, the server's options count too: they are its defaults.
   */
  areReadable(names: readonly OptionName[], path: Path = []): boolean {
    return names.every((name) => this.isReadable([name]) && this.isReadable([...path, name]));
  }

  /** Returns whether exactly this option, entry of `issuers` or option of an entry has the right shape. */
  isReadable(path: Path): boolean {
    return !this.#unreadable.has(pathText(path));
  }

  /** Returns the paths of all mistakes in these options of the server. */
  pathsIn(...options: readonly OptionName[]): readonly Path[] {
    return this.issues.map(({ path }) => path).filter(([name]) => options.some((option) => option === name));
  }
}

const pathText = (path: Path): string => path.join(".");
