/** The whole life cycle of the database example, with a simulated sidecar: `examples/database/outside.ts`. */
import { describe, expect, it } from 'vitest'
import { database, databaseStaging } from '../../../test/examples.ts'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { parsePlan } from './fault.ts'
import { openSimulator, type Simulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'

async function open(workloads = false): Promise<Simulator> {
  const subject = await operatorSubject(() => database)
  return await openSimulator({ subject, ...(await databaseStaging()), workloads })
}

let opened: Promise<Simulator> | undefined
const shared = (): Promise<Simulator> => (opened ??= open())
let lively: Promise<Simulator> | undefined
const sharedWithPods = (): Promise<Simulator> => (lively ??= open(true))

describe('the database example', () => {
  it('starts, is backed up, ends and starts again in the simulation', async () => {
    const simulator = await sharedWithPods()
    const endOf = async (scenario: string) => {
      const { run, violations } = await simulator.runPlan(parsePlan(scenario))
      expect(violations).toEqual([])
      return { ...run.outside, ...run.done }
    }
    await expect(endOf('create')).resolves.toEqual({ running: ['default/sample'], actions: [] })
    await expect(endOf('back up')).resolves.toEqual({
      running: ['default/sample'],
      actions: ['backup to /data/backup.rdb'],
    })
    await expect(endOf('end')).resolves.toEqual({ running: [], actions: ['stop'] })
    await expect(endOf('end and start')).resolves.toEqual({ running: ['default/sample'], actions: ['stop'] })
    await expect(endOf('delete')).resolves.toEqual({ running: [], actions: ['stop'] })
  }, 120_000)

  /** What the simulator found, and why it was so. */
  const found: readonly (readonly [plan: string, why: string])[] = [
    ['delete: jump@1=-3600000', 'what lay ahead after a clock was set back was waited for'],
    ['create and delete: travel@8=1', 'a status written on what was old undid the memory of a life'],
    ['create: crash@4', 'an application that starts by itself was looked at too seldom'],
    ['delete: remove@1=statefulsets.apps default/sample', 'one that was gone had to be stopped first'],
    ['end: remove@1=statefulsets.apps default/sample', 'one that had come to its end was made anew'],
    ['end and start: hurry@1', 'one that had ended was waited for without its objects being made anew'],
    ['end and start: travel@8=3', 'what was new was deleted by a run that had begun before'],
    ['back spec.tokenFrom', 'who was not let in did not mend what kept it out'],
  ]
  for (const [plan, why] of found) {
    it(`passes ${plan}, a regression: ${why}`, async () => {
      expect((await (await shared()).runPlan(parsePlan(plan))).violations).toEqual([])
    }, 120_000)
  }

  it('passes change: remove@rest=statefulsets.apps with pods, a regression: its other objects were recreated, too', async () => {
    const plan = parsePlan('change: remove@rest=statefulsets.apps default/sample')
    expect((await (await sharedWithPods()).runPlan(plan)).violations).toEqual([])
  }, 120_000)

  it('passes end and start: remove@6 of its CR with pods, a regression: it waited for an undesired start', async () => {
    const plan = parsePlan('end and start: remove@6=databases.db.example.com default/sample')
    expect((await (await sharedWithPods()).runPlan(plan)).violations).toEqual([])
  }, 120_000)

  it(`passes ${howMany} its plans with pods`, async () => {
    await expectToPass(await sharedWithPods(), { sample: 4, groups: ['leaders'] })
  }, 900_000)

  it(`passes ${howMany} its plans`, async () => {
    await expectToPass(await shared(), { sample: 15 })
  }, 900_000)
})
