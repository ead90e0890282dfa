import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kube/json.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { writeGoYaml } from './go-yaml.ts'
import { mutationHash } from '../declaration/mutation.ts'

interface Vector {
  readonly value: Json
  readonly yaml: string
  readonly hash: string
}

/** Written by the library that programs in Go use for it. */
const vectors = JSON.parse(
  readFileSync(new URL('../../../test/contract/go-yaml.json', import.meta.url), 'utf8'),
) as readonly Vector[]

describe('YAML of the contract', () => {
  it.each(vectors)('has the bytes of Go, and their hash: $hash', ({ value, yaml, hash }) => {
    expect(writeGoYaml(value)).toBe(yaml)
    expect(mutationHash(yaml, '')).toBe(hash)
  })

  it('round-trips, however its lines are folded', () => {
    const words = fc.array(fc.constantFrom('a', 'long', "it's", 'x:', '#', '"q"', 'word'.repeat(9), 'ü'), {
      maxLength: 40,
    })
    const text = words.map((each) => each.join(' '))
    const value = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof(text, fc.array(text, { maxLength: 3 })))
    fc.assert(
      fc.property(value, (document) => {
        expect(readYaml(writeGoYaml(document))).toEqual({ ...document })
      }),
    )
  })
})

describe('the hash in file names', () => {
  it('is of the body, of the options where there is none, and reports when there is neither', () => {
    expect(mutationHash('a: 1\n', 'b: 2\n')).toBe(mutationHash('a: 1\n', ''))
    expect(mutationHash('', 'b: 2\n')).toBe(mutationHash('b: 2\n', ''))
    expect(mutationHash('', '')).toBe('MISSING')
  })
})
