import { describe, expect, it, onTestFinished } from 'vitest'
import { Job } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { AppWrapper } from './appwrapper.ts'
import { workloadsOperator } from '../workloads-operator.ts'

const at = (name: string) => ({ name, namespace: 'default' })
const job = (name: string, cpu: string, parallelism = 1): UntypedObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    parallelism,
    completions: parallelism,
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu } } }],
      },
    },
  },
})
const wrapper = (name: string, ...templates: readonly UntypedObject[]): UntypedObject => ({
  apiVersion: 'workload.codeflare.dev/v1beta2',
  kind: 'AppWrapper',
  metadata: at(name),
  spec: { components: templates.map((template) => ({ template })) },
})

async function opened(): Promise<TestEnvironment> {
  const environment = await openTestEnvironment(workloadsOperator, { workloads: true })
  onTestFinished(() => environment.close())
  return environment
}

describe('an AppWrapper', () => {
  it('with a Job is queued, dispatched, runs and succeeds, with few requests', async () => {
    const environment = await opened()
    const { client } = environment
    await environment.create(AppWrapper, wrapper('one', job('train', '1')))
    await environment.settle(60_000)
    const { status } = await client.get(AppWrapper, at('one'))
    console.log(JSON.stringify(status, undefined, 1), environment.writes)
    expect(status?.phase).toBe('Succeeded')
  })
})
