/** What is said of a route that `protect` does not run in front of. */
import { type UnguardedPlace } from "../audit/coverage.ts";

const PLACES = {
  before: {
    place: "is registered before protect",
    hint: "Move app.use(protect(server)) in front of it.",
  },
  outside: {
    place: "is outside of the router or the route that protect stands in",
    hint: "Write app.use(protect(server)) in front of all routes.",
  },
  "outside of the plugin": {
    place: "is outside of the plugin that protect is registered in",
    hint: "Move app.register(protect(server)) out of that plugin, to the instance that holds every route.",
  },
};

/** The place of a route, in words; `requireScopes` on it finds no caller and throws. */
export function describePlace(place: keyof typeof PLACES, hasScopeCheck: boolean): UnguardedPlace {
  const consequence = hasScopeCheck
    ? "requireScopes on it finds no caller, and every request is answered by 500"
    : "its handler runs without any check";
  const { place: where, hint } = PLACES[place];
  return Object.freeze({ message: `${where}: ${consequence}.`, hint });
}
