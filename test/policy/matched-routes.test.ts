import { expect, it } from "vitest";
import { MatchedRoutes } from "../../src/policy/matched-routes.ts";

const OWN = { ignoreCase: false };
const ANY = { ignoreCase: true };

/** No rules, and how often they were asked. */
function countedRoutes() {
  let asked = 0;
  const rules = Object.assign([], { filter: () => ((asked += 1), []) });
  const routes = new MatchedRoutes(rules);
  return (method: string, pattern: string, reading: { ignoreCase: boolean }): boolean => {
    asked = 0;
    routes.find(method, pattern, reading);
    return asked === 0;
  };
}

it("looks for a route once, for each method and each reading, be there none", () => {
  const isKnown = countedRoutes();
  for (const reading of [OWN, ANY])
    for (const method of ["GET", "POST"]) {
      expect(isKnown(method, "/agents", reading)).toBe(false);
      expect(isKnown(method, "/agents", reading)).toBe(true);
    }
});

it("forgets all routes when there are more than an application has", () => {
  const isKnown = countedRoutes();
  isKnown("GET", "/own", OWN);
  isKnown("GET", "/any", ANY);
  for (let index = 2; index < 10_000; index += 1) isKnown("GET", `/${index}`, OWN);
  expect(isKnown("GET", "/own", OWN)).toBe(true);
  expect(isKnown("GET", "/more", ANY)).toBe(false);
  for (let turn = 0; turn < 2; turn += 1) {
    expect(isKnown("GET", "/own", OWN)).toBe(turn > 0);
    expect(isKnown("GET", "/any", ANY)).toBe(turn > 0);
  }
});
