/** Primes for which powers of 65537 don't reach every remainder (the published test of CVE-2017-15361). */
const PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157];

const GENERATOR = 65_537;

/** For each prime, the remainders of the powers of the generator. */
const REMAINDERS = PRIMES.map((prime) => {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power);
  return { prime: BigInt(prime), remainders: powers };
});

/**
 * Returns whether an RSA modulus, in base64url, has the ROCA fingerprint (CVE-2017-15361): it is a power of
 * 65537 modulo every small prime. Such a modulus can be factored. One in 240 million others has it by chance.
 */
export function hasRocaFingerprint(n: string): boolean {
  const modulus = BigInt(`0x${Buffer.from(n, "base64url").toString("hex")}`);
  return REMAINDERS.every(({ prime, remainders }) => remainders.has(Number(modulus % prime)));
}
