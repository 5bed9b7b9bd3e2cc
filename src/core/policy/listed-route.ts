/** A route of an application, as its framework registered it. */
export interface ListedRoute {
  /** Upper case, or `*` for every method. A `GET` route also handles HEAD. */
  readonly method: string;
  /** The whole path in path-to-regexp's syntax, including mount prefixes. */
  readonly pattern: string;
  /** The names of the arguments of an MCP operation. Omitted if they aren't known. */
  readonly parameters?: readonly string[];
  /** The `type` of these arguments in JSON Schema, by name. */
  readonly parameterTypes?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The scopes in the code of an MCP operation; `"unknown"` if they depend on the call. Omitted if none. */
  readonly scopes?: readonly string[] | "unknown";
  /** What it serves, if that isn't one handler: `static files`, for example. Rules may cover parts of it. */
  readonly serves?: string;
  /** Why `protect` doesn't run before the route. Omitted if it does, or if that isn't known. */
  readonly unguarded?: UnguardedPlace;
}

/** Why a route is unguarded, as an audit reports it. */
export interface UnguardedPlace {
  /** The mistake, such as `is registered before protect.` */
  readonly message: string;
  /** What to write instead. */
  readonly hint: string;
  /** Whether there may be a guard that `routesOf` can't find. */
  readonly isUncertain?: true;
}
