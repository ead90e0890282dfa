/** YAML as a real API server reads and writes it. */
import { describe, expect, it } from 'vitest'
import { type Json, type JsonObject, isJsonObject } from '../../src/kube/json.ts'
import { readYaml, writeYaml } from '../../src/kube/yaml/yaml.ts'
import { type YamlOutputVector, type YamlVector, yamlValues } from '../vectors/cases/yaml.ts'
import { readVectors } from '../vectors/read.ts'
import { attempt, differences } from './differences.ts'

const { vectors } = await readVectors<YamlVector>('yaml')
const output = await readVectors<YamlOutputVector>('yaml-output')

const specOf = (document: Json): Json | undefined =>
  isJsonObject(document) ? asServerKeepsIt(document['spec'] ?? null) : undefined

/** To the server an integer that 64 bits cannot hold is a float; we keep it. */
function asServerKeepsIt(value: Json): Json {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) !== value ? Number(value) : value
}

describe('YAML', () => {
  it('is parsed as on the server', () => {
    const first = 'the server reads the first document and is silent about more; we ask for exactly one'
    const known = {
      'scalar "\\"\\\\ud83d\\\\ude00\\""': 'we take a character in two escapes, as JSON does',
      'scalar "\\ta"': 'we take a tab before a value',
      'line separator': 'we do not fold lines at U+2028',
      'next line character': 'we do not end lines at U+0085',
      'document: version 1.2 directive': 'we do not look at the version',
      'document: two documents': first,
      'document: empty first document': first,
    }
    const read = ({ yaml }: YamlVector): Json | undefined => specOf(readYaml(yaml))
    expect(
      differences(vectors, read, ({ value }) => (value === undefined ? undefined : asServerKeepsIt(value)), known),
    ).toEqual([])
  })

  it('with a duplicate key is rejected when strict, as on the server', () => {
    const overriding = 'to state a merged key once more is what merging is for'
    const known = { merge: overriding, 'merge comes before own keys': overriding, 'merge of several': overriding }
    const accepted = vectors.filter(
      ({ value, yaml }) => value !== undefined && attempt(() => readYaml(yaml)) !== undefined,
    )
    const refuses = ({ yaml }: YamlVector): boolean => attempt(() => readYaml(yaml, { strict: true })) === undefined
    expect(differences(accepted, refuses, ({ careless = false }) => careless, known)).toEqual([])
  })

  it('written by the server is parsed to the original value', () => {
    const known = {
      '"\u0085"': 'the server writes the character as it is, and every reader takes it for the end of a line',
      [output.vectors.find(({ value }) => isJsonObject(value) && '<<' in value)?.name ?? '']:
        'the server does not quote "<<"',
    }
    const read = ({ yaml }: YamlOutputVector): Json => (specOf(readYaml(yaml)) as JsonObject)['value'] ?? null
    expect(differences(output.vectors, read, ({ value }) => value, known)).toEqual([])
  })

  it('written by us is parsed to the original value', () => {
    for (const value of yamlValues) expect(readYaml(writeYaml(value))).toEqual(value)
  })

  it('is formatted as on the server, except for style in unusual cases', () => {
    const same = output.vectors.filter(({ value, yaml }) => writeYaml({ spec: { value } }) === yaml)
    expect(same.length).toBeGreaterThan(output.vectors.length * 0.8)
  })
})
