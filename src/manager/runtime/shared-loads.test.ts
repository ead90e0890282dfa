import { describe, expect, it } from 'vitest'
import { readConfiguration } from '../config/configuration.ts'
import { type Assignment, assignmentsOf } from './assignment.ts'
import { shareLoads } from './shared-loads.ts'

const postingOf = (isolation: string, debounce = 0): Assignment => {
  const operators = { app: { from: './app.ts', isolation, gates: { debounce: `${debounce}s` } } }
  const { settings } = readConfiguration([{ source: 'test', value: { operators } }])
  return assignmentsOf(settings).get('app')!
}

interface Load {
  readonly isolation: string
  isClosed: boolean
  close(): Promise<void>
}

function loads(): { readonly all: Load[]; readonly load: (assignment: Assignment) => Promise<Load> } {
  const all: Load[] = []
  const load = shareLoads(({ section }) => {
    const one: Load = {
      isolation: section.isolation,
      isClosed: false,
      close: () => {
        one.isClosed = true
        return Promise.resolve()
      },
    }
    all.push(one)
    return Promise.resolve(one)
  })
  return { all, load }
}

describe('an assignment with several users', () => {
  it('is loaded once, and closed by the last of them', async () => {
    const { all, load } = loads()
    const [worked, answered] = await Promise.all([load(postingOf('worker')), load(postingOf('worker', 1))])
    expect(all).toHaveLength(1)
    await worked.close()
    await worked.close()
    expect(all[0]!.isClosed).toBe(false)
    await answered.close()
    expect(all[0]!.isClosed).toBe(true)
  })

  it('is loaded again after that, and when its settings differ', async () => {
    const { all, load } = loads()
    const first = await load(postingOf('worker'))
    await load(postingOf('process'))
    await first.close()
    await load(postingOf('worker'))
    expect(all.map(({ isolation, isClosed }) => [isolation, isClosed])).toEqual([
      ['worker', true],
      ['process', false],
      ['worker', false],
    ])
  })

  it('that cannot be loaded is retried by the next user', async () => {
    let tries = 0
    const load = shareLoads(() => (++tries === 1 ? Promise.reject(new Error('not yet')) : Promise.resolve({})))
    const both = await Promise.allSettled([load(postingOf('inline')), load(postingOf('inline'))])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(load(postingOf('inline'))).resolves.toBeDefined()
    expect(tries).toBe(2)
  })
})
