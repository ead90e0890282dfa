/**
 * Whether a program ended for want of memory. A process whose limit is reached is not ended by the system: it is refused more, and
 * says so in the words of its language. There is no other sign of it.
 */
const words = [
  // The system's own, and those of Go, Perl, awk and Tcl.
  /out of (?:memory|space)|cannot allocate|memory exhausted|not enough (?:memory|space)|ENOMEM/,
  // Node, which has several; Rust; Java and .NET; Python and Ruby; C++.
  /allocation[ _]failed|failed to allocate|memory allocation of \d+ bytes failed/,
  /OutOfMemory|insufficient memory|MemoryError|bad_alloc/,
]
const anyOfThem = new RegExp(words.map(({ source }) => source).join('|'), 'i')

export function ranOutOfMemory(stderr: string): boolean {
  return anyOfThem.test(stderr)
}
