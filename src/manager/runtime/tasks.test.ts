import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { crds, embedded } from '../../../test/embedded.ts'
import { type RenderInput, Site, site, siteOperator } from '../../../test/task-operator.ts'
import { seededRandom } from '../../clock/random.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineTask } from '../../operator/task/task.ts'
import { readConfiguration } from '../config/configuration.ts'
import { createMetrics } from '../observability/metrics.ts'
import { startRuntime } from './runtime.ts'

it('a runtime works tasks out as its settings say: results in a folder survive it, and attempts are counted', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-tasks-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { client, clock } = embedded()
  await client.create(crds, Site.crd() as unknown as UntypedObject)
  let ran = 0
  const render = defineTask({ name: 'render', run: ({ chart }: RenderInput) => `${chart} ${++ran}` })
  const operator = siteOperator(render)
  const { settings } = readConfiguration([{ source: 'test', value: { tasks: { folder, concurrency: 1 } } }], [operator])

  /** A manager from its start to the ConfigMap of this CR. */
  const live = async (name: string): Promise<{ readonly text: string | undefined; readonly metrics: string }> => {
    const metrics = createMetrics()
    const runtime = startRuntime({
      settings,
      metrics,
      clock,
      identity: 'replica',
      random: seededRandom(1),
      local: { client, as: () => client },
      reach: (cluster) => Promise.reject(new Error(`there is no ${cluster}`)),
      load: () => Promise.resolve({ operator }),
    })
    await client.create(Site, site(name))
    let text: string | undefined
    // Files take real time.
    while (text === undefined) {
      await clock.advance(1000)
      const { items } = await client.list(ConfigMap, { namespace: 'default' })
      text = items.find(({ metadata }) => metadata.name === `${name}-sites`)?.data?.['text']
    }
    const stopping = { isDone: false }
    const stopped = runtime.stop().then(() => (stopping.isDone = true))
    while (!stopping.isDone) await clock.advance(1000)
    await stopped
    return { text, metrics: metrics.render() }
  }

  const first = await live('a')
  expect(first.text).toBe('web 1')
  expect(first.metrics).toContain('muster_task_time_seconds_count{task="render",result="success"} 1')
  expect(await readdir(folder)).toHaveLength(1)
  expect((await live('b')).text).toBe('web 1')
  expect(ran).toBe(1)
})
