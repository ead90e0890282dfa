/** Every operator of this repository that is meant to be good passes its plans. The database has a file of its own. */
import { describe, expect, it } from 'vitest'
import { operator as reader } from '../../../bench/isolation/reader.ts'
import { memcached } from '../../../test/examples.ts'
import { part } from '../../../test/manager/operators.ts'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { loadTemplate } from '../../../test/init-template.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import { parsePlan } from './fault.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator, type Simulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'

/** What a sample is drawn from, where the fields of a kind need not be walked over. */
const few = ['crash', 'leaders', 'stale', 'person']

async function open(operator: Operator, workloads = false, sample?: readonly UntypedObject[]): Promise<Simulator> {
  const subject = await operatorSubject(() => operator)
  return await openSimulator({ subject, sample: sample ?? samplesOf(operator), workloads })
}

/** Of the benchmark: it counts what it has reconciled, and says so when that is as much as it expects. */
async function loadWidget(): Promise<Operator> {
  process.env['BENCH_EXPECT'] = String(Number.MAX_SAFE_INTEGER)
  const place = new URL('../../../bench/manager/programs/widgets.mjs', import.meta.url).href
  const { widget00 } = (await import(/* @vite-ignore */ place)) as { readonly widget00: Operator }
  delete process.env['BENCH_EXPECT']
  return widget00
}

describe('the operators of this repository', () => {
  it(`memcached passes ${howMany} its plans`, async () => {
    await expectToPass(await open(memcached), { sample: 20 })
  }, 600_000)

  it('memcached passes create and change: hurry@1, merge@e3, a regression: a spec change was mistaken for its own status write', async () => {
    const simulator = await open(memcached)
    expect((await simulator.runPlan(parsePlan('create and change: hurry@1, merge@e3'))).violations).toEqual([])
  })

  it('memcached does not fight the garbage collector for children of a deleted CR that is still in its cache', async () => {
    const simulator = await open(memcached)
    const { run } = await simulator.runPlan(parsePlan('delete and create again: delay@e1=500'))
    const again = run.trace.findIndex(({ text }) => text.startsWith('a user creates'))
    const made = run.trace
      .slice(0, again)
      .filter(({ text }) => /^write \d+: patch (?:configmaps|deployments)/.test(text))
    // The operator recreates each child once, since a user may have deleted it; before a second time it reads the CR.
    expect(made).toHaveLength(2)
    const looks = run.requests.filter(({ verb, resource }) => verb === 'get' && resource?.plural === 'memcacheds')
    expect(looks.map(({ status }) => status)).toContain(404)
  })

  it(`memcached passes ${howMany} its plans with pods`, async () => {
    await expectToPass(await open(memcached, true), { sample: 6, groups: ['crash'] })
  }, 900_000)

  it(`the template of muster init passes ${howMany} its plans`, async () => {
    const { operator, sample } = await loadTemplate()
    await expectToPass(await open(operator, false, sample), { sample: 8 })
  }, 600_000)

  it(`the template of muster init passes ${howMany} its plans with pods`, async () => {
    const { operator, sample } = await loadTemplate()
    await expectToPass(await open(operator, true, sample), { sample: 6, groups: ['crash', 'person'] })
  }, 900_000)

  it(`the operators of the replica tests pass ${howMany} their plans`, async () => {
    await expectToPass(await open(part(0, 'plans')), { sample: 8, groups: few })
  }, 600_000)

  it(`the benchmark operator passes ${howMany} its plans`, async () => {
    const token = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token' }, stringData: { token: 'a' } }
    const metadata = { name: 'sample' }
    const spec = { replicas: 1, value: 'a', secretName: 'token' }
    const cr = { apiVersion: 'bench.muster.dev/v1', kind: 'Widget00', metadata, spec }
    await expectToPass(await open(await loadWidget(), false, [token, cr]), { sample: 8, groups: few })
  }, 600_000)

  it(`the read-only benchmark operator passes ${howMany} its plans`, async () => {
    await expectToPass(await open(reader), { sample: 4, groups: few })
  }, 600_000)
})
