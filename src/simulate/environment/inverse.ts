/** The modular inverse of `value`, which must be coprime to `modulus`. */
export function inverse(value: bigint, modulus: bigint): bigint {
  let [r, next] = [modulus, value % modulus]
  let [x, y] = [0n, 1n]
  while (next !== 0n) {
    const quotient = r / next
    ;[r, next] = [next, r - quotient * next]
    ;[x, y] = [y, x - quotient * y]
  }
  return ((x % modulus) + modulus) % modulus
}
