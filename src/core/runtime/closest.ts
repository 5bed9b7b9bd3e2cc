/**
 * Finds the word that needs the fewest changes to become another word, if at most `maxDistance`. A change
 * inserts, deletes or replaces a character (Levenshtein distance). Returns the first of equally close words.
 */
export function findClosest(word: string, words: readonly string[], maxDistance: number): string | undefined {
  let closest: string | undefined;
  let limit = maxDistance;
  for (const candidate of words) {
    // The distance is at least the difference in length. This skips most words.
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = distanceOf(word, candidate);
    if (distance > limit) continue;
    closest = candidate;
    limit = distance - 1;
  }
  return closest;
}

function distanceOf(from: string, to: string): number {
  // `row[index]` is the distance between the characters of `from` so far and the first `index` of `to`.
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let length = 1; length <= from.length; length += 1) {
    const next = [length];
    for (let index = 1; index <= to.length; index += 1) {
      const replacement = Number(row[index - 1]) + Number(from[length - 1] !== to[index - 1]);
      next.push(Math.min(replacement, Number(row[index]) + 1, Number(next[index - 1]) + 1));
    }
    row = next;
  }
  return Number(row.at(-1));
}
