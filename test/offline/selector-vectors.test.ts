/** What selectors choose, as recorded from a real API server. */
import { describe, expect, it } from 'vitest'
import { matchFields, matchLabels, parseFields, parseLabels } from '../../src/kube/selector/selector.ts'
import { type SelectorVector, labelledObjects, selectedPods } from '../vectors/cases/selectors.ts'
import { readVectors } from '../vectors/read.ts'
import { differences } from './differences.ts'

const byLabel = await readVectors<SelectorVector>('label-selectors')
const byField = await readVectors<SelectorVector>('field-selectors')

describe('selectors', () => {
  it('by label select what the server selects, and are rejected where it rejects them', () => {
    const choose = ({ selector }: SelectorVector): string[] => {
      const parsed = parseLabels(selector)
      return Object.entries(labelledObjects)
        .filter(([, labels]) => matchLabels(parsed, labels))
        .map(([name]) => name)
        .toSorted()
    }
    expect(differences(byLabel.vectors, choose, ({ matches }) => matches)).toEqual([])
  })

  it('by field select what the server selects, and are rejected where malformed', () => {
    const choose = ({ selector }: SelectorVector): string[] => {
      const parsed = parseFields(selector)
      return selectedPods
        .filter((pod) => matchFields(parsed, pod))
        .map(({ metadata }) => String(metadata.name))
        .toSorted()
    }
    // Which fields a kind can be selected by is the server's to know, not the grammar's.
    const grammatical = byField.vectors.filter(({ unknownField }) => !unknownField)
    expect(differences(grammatical, choose, ({ matches }) => matches)).toEqual([])
  })
})
