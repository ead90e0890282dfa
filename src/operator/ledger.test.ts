import { expect, it } from 'vitest'
import { eventsOf, type Ledger, type LedgerEntry } from './ledger.ts'

const entry = (operation: LedgerEntry['operation'], name: string): LedgerEntry => ({
  step: 'Updater',
  subject: name,
  operation,
  kind: 'v1 ConfigMap',
  name: { name },
})
const messages = (entries: readonly LedgerEntry[]): readonly string[] =>
  eventsOf({ entries } as Pick<Ledger, 'entries'> as Ledger).map(({ message }) => message)

it('a few changes are an Event each, more of one sort are one Event', () => {
  const created = (count: number) => Array.from({ length: count }, (_, at) => entry('created', `c${at}`))
  expect(messages([...created(2), entry('pruned', 'old'), entry('unchanged', 'same')])).toEqual([
    'Created ConfigMap c0',
    'Created ConfigMap c1',
    'Pruned ConfigMap old',
  ])
  expect(messages([...created(7), entry('pruned', 'old')])).toEqual([
    'Created 7 objects: ConfigMap c0, ConfigMap c1, ConfigMap c2, ConfigMap c3, ConfigMap c4 and 2 more',
    'Pruned ConfigMap old',
  ])
})
