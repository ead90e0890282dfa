import { setTimeout as sleepFor } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RenderInput, Site, site, siteOperator } from '../../../test/task-operator.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineTask, type Task } from '../../operator/task/task.ts'
import { parsePlan } from './fault.ts'
import { openSimulator, simulate, type Simulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'
import { formatTrace } from './trace.ts'

/** Takes real time, another one each time, and has a random value in its result. */
function unevenRender(): { readonly render: Task<RenderInput, string>; readonly ran: string[] } {
  const ran: string[] = []
  const render = defineTask({
    name: 'example.com/render',
    async run({ chart }: RenderInput) {
      await sleepFor((ran.length * 3) % 5)
      ran.push(chart)
      return `${chart} ${Math.random()}`
    },
  })
  return { render, ran }
}

/** Asks for several results at a time. */
function severalOperator(render: Task<RenderInput, string>): Operator {
  const controller = defineController({
    for: Site,
    tasks: [render],
    writes: [ConfigMap],
    async reconcile({ cr: { metadata, spec }, result }) {
      const texts = await Promise.all(['x', 'y', 'z'].map((part) => result(render, { chart: `${spec.chart}-${part}` })))
      const { name, namespace = '' } = metadata
      return {
        objects: texts.map((text, index) => ({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `${name}-${index}`, namespace },
          data: { text },
        })),
      }
    },
  })
  return defineOperator({ name: 'several', controllers: [controller] })
}

describe('an operator with a task in a simulation', () => {
  const { render, ran } = unevenRender()
  const sample = [site('a')]
  const open = async (): Promise<Simulator> =>
    await openSimulator({
      subject: await operatorSubject(() => severalOperator(render)),
      sample,
      seed: 1,
      workloads: false,
    })
  const traceOf = async (simulator: Simulator, plan: string): Promise<string> =>
    formatTrace((await simulator.runPlan(parsePlan(plan))).run.trace)

  it('has the same trace for the same seed, however long the task takes, and works it out again after a crash', async () => {
    const [one, other] = [await open(), await open()]
    for (const plan of ['create: crash@1', 'create and change: crash@4, delay@e3=500', 'delete: crash@1']) {
      ran.length = 0
      const trace = await traceOf(one, plan)
      expect(ran.slice(0, 3)).toEqual(['web-x', 'web-y', 'web-z'])
      expect(trace).toContain('process 2 starts')
      ran.push('so that it takes another time')
      expect(await traceOf(other, plan)).toBe(trace)
      expect(await traceOf(one, plan)).toBe(trace)
    }
  })

  it('breaks no law under any plan', async () => {
    const report = await simulate({
      subject: await operatorSubject(() => siteOperator(render)),
      sample,
      seed: 1,
      workloads: false,
      limit: 40,
    })
    expect(report.failures).toEqual([])
    expect(report.plans.executed).toBe(40)
  })
})
