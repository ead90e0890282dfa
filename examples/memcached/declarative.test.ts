/** The declarative tests of the example, as `muster test examples/memcached/tests` runs them. */
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system-clock.ts'
import { runSuite } from '../../src/simulate/declarative/suite.ts'
import { operator } from './operator.ts'

it('memcached passes its declarative tests', async () => {
  const folder = fileURLToPath(new URL('tests', import.meta.url))
  const results = await runSuite(folder, { clock: systemClock, load: () => Promise.resolve(operator) })
  expect(results.map(({ name, discrepancies }) => ({ name, discrepancies }))).toEqual(
    results.map(({ name }) => ({ name, discrepancies: [] })),
  )
  expect(results).toHaveLength(2)
})
