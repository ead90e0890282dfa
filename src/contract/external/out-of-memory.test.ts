import { describe, expect, it } from 'vitest'
import { ranOutOfMemory } from './out-of-memory.ts'

/** As they were printed by programs whose memory was limited. */
const printed: Readonly<Record<string, string>> = {
  bash: 'bash: xmalloc: cannot allocate 33554433 bytes',
  tail: 'tail: memory exhausted',
  Go: 'fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw({0x4c7c70?, 0x2978?})',
  'Node, of its heap':
    'FATAL ERROR: MarkCompactCollector: young object promotion failed Allocation failed - JavaScript heap out of memory',
  'Node, of a Buffer':
    "RangeError: Failed to allocate memory\n    at Buffer.alloc {\n  code: 'ERR_MEMORY_ALLOCATION_FAILED'\n}",
  'Node, of an ArrayBuffer': 'RangeError: Array buffer allocation failed\n\nNode.js v26.10.0',
  Python: 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nMemoryError',
  Rust: 'memory allocation of 10000000 bytes failed\nstack backtrace:',
  'C++': "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
  Java: 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
  'Java, when it starts':
    "os::commit_memory(0x00007f9be3bc0000, 196608, 0) failed; error='Not enough space' (errno=12)",
  Perl: 'Out of memory!',
  awk: 'awk: run time error: out of memory',
  Tcl: 'string size overflow, out of memory allocating 1000000001 bytes',
}

describe('a program that ran out of memory', () => {
  it.each(Object.entries(printed))('is recognised by its output: %s', (_, text) => {
    expect(ranOutOfMemory(text)).toBe(true)
  })

  it.each([
    '',
    'Error: connect ECONNREFUSED 127.0.0.1:6443',
    'the memory of x is 3 MiB',
    'allocation of 3 addresses failed',
    'panic: runtime error: invalid memory address or nil pointer dereference',
  ])('is not recognised: %j', (text) => {
    expect(ranOutOfMemory(text)).toBe(false)
  })
})
