/**
 * Whether a program ran out of memory. A process at its limit is not killed: an allocation fails, and its runtime
 * reports that in its own words. There is no other sign of it.
 */
const patterns = [
  // libc, Go, Perl, awk and Tcl.
  /out of (?:memory|space)|cannot allocate|memory exhausted|not enough (?:memory|space)|ENOMEM/,
  // Node, which has several; Rust; Java and .NET; Python and Ruby; C++.
  /allocation[ _]failed|failed to allocate|memory allocation of \d+ bytes failed/,
  /OutOfMemory|insufficient memory|MemoryError|bad_alloc/,
]
const anyOfThem = new RegExp(patterns.map(({ source }) => source).join('|'), 'i')

export function ranOutOfMemory(stderr: string): boolean {
  return anyOfThem.test(stderr)
}
