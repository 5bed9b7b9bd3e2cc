/** A route that NestJS has registered at the adapter of its platform, which doesn't store its handler. */
export interface NotedRoute {
  /** Upper case, or `*` for every method. */
  readonly method: string;
  readonly pattern: string;
  /** Whether the handler has `@Public()`. */
  readonly isPublic: boolean;
  /** Whether the handler belongs to a controller: NestJS runs guards only for these handlers. */
  readonly isController: boolean;
}

/** The routes of each adapter. This file doesn't import NestJS, so that an audit can load it. */
export const notedRoutes = new WeakMap<object, NotedRoute[]>();

/** The servers whose guards run before the controllers of an adapter. */
export const guardingServers = new WeakMap<object, Set<object>>();
