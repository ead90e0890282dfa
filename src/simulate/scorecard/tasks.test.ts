import { setTimeout as sleepFor } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type RenderInput, site, siteOperator } from '../../../test/task-operator.ts'
import { defineTask } from '../../operator/task/task.ts'
import { scorecard } from './scorecard.ts'

it('examines an operator with a task, which takes real time', async () => {
  const render = defineTask({
    name: 'example.com/render',
    async run({ chart }: RenderInput) {
      await sleepFor(2)
      return `${chart} ${Math.random()}`
    },
  })
  const { lines } = await scorecard({
    load: () => siteOperator(render),
    sample: [site('a')],
    workloads: false,
    restMs: 3_600_000,
  })
  expect(lines.filter(({ result }) => result === 'failed')).toEqual([])
})
