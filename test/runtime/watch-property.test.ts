import { expect, it } from "vitest";
import { watchProperty } from "../../src/runtime/watch-property.ts";

it("names a possible cause if other code has locked the property", () => {
  const holder = Object.defineProperty({ route: undefined }, "route", { configurable: false });
  expect(() => {
    watchProperty(holder, "route", () => undefined);
  }).toThrow(
    "Other code has locked the property `route` of this application's requests, so that the routes behind protect cannot be checked. If it is an old copy of scopegate, `npm ls scopegate` shows it: update it.",
  );
});
