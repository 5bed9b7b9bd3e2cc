/** Random strings that are nearly valid. Pure noise never passes the first check. */
import fc from "fast-check";

/** Any string, including lone surrogates. */
export const noise = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string());

type Edit = (text: string) => string;

const place = fc.double({ min: 0, max: 1, noNaN: true });
const at = (text: string, where: number): number => Math.floor(where * (text.length + 1));

/** Inserts a piece, deletes, repeats or swaps parts, or changes letter case. */
function edits(pieces: readonly string[]): fc.Arbitrary<Edit> {
  return fc.oneof(
    fc.tuple(place, fc.constantFrom(...pieces)).map(
      ([where, piece]): Edit =>
        (text) =>
          text.slice(0, at(text, where)) + piece + text.slice(at(text, where)),
    ),
    fc.tuple(place, fc.nat({ max: 4 })).map(
      ([where, length]): Edit =>
        (text) =>
          text.slice(0, at(text, where)) + text.slice(at(text, where) + length),
    ),
    fc.tuple(place, place).map(([a, b]): Edit => (text) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)].map((where) => at(text, where));
      return text.slice(0, to) + text.slice(from);
    }),
    place.map(
      (where): Edit =>
        (text) =>
          text.slice(at(text, where)) + text.slice(0, at(text, where)),
    ),
    place.map(
      (where): Edit =>
        (text) =>
          text.slice(0, at(text, where)).toUpperCase() + text.slice(at(text, where)),
    ),
    fc.constant<Edit>((text) => text),
  );
}

/** One of the valid strings with up to four edits, or sometimes noise. */
export const mutated = (texts: readonly string[], pieces: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .tuple(fc.constantFrom(...texts), fc.array(edits(pieces), { maxLength: 4 }))
        .map(([text, changes]) => changes.reduce((changed, edit) => edit(changed), text)),
    },
    { weight: 1, arbitrary: noise },
  );
