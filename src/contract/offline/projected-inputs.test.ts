import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { operator, Shown } from '../../../test/projected-operator.ts'
import { crds } from '../../../test/embedded.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { ConfigMap, Pod, Secret } from '../../kube/kinds.ts'
import { hostOperator } from '../../manager/hosting/host.ts'
import { openRunner } from '../../manager/isolation/open-runner.ts'
import type { IsolationLevel } from '../../manager/isolation/runner.ts'
import { dryRun } from '../../manager/plan/dry-run.ts'
import { openOfflineWorld } from './offline-world.ts'

const module = fileURLToPath(new URL('../../../test/projected-operator.ts', import.meta.url))
const at = { name: 'a', namespace: 'default' }

const pod = (name: string, labels: Readonly<Record<string, string>>): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels },
  spec: { nodeName: 'one', containers: [{ name: 'a', image: 'i:1' }] },
  status: { phase: 'Running' },
})
const secret = (name: string, labels: Readonly<Record<string, string>>): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default', labels },
  data: { key: 'eA==' },
})
const pods = [pod('partly', { app: 'x' }), pod('whole', { detail: 'whole' })]
const secrets = [secret('release', { owner: 'helm' }), secret('other', {})]
const cr: UntypedObject = { apiVersion: 'test.example.com/v1', kind: 'Shown', metadata: at, spec: {} }

interface View {
  readonly pods: readonly { readonly name: string; readonly spec: object; readonly status: object }[]
  readonly secrets: readonly object[]
}

/** What the operator has written of its view. */
function readView(object: object | undefined): View {
  const { data } = object as { readonly data: { readonly pods: string; readonly secrets: string } }
  return { pods: JSON.parse(data.pods) as View['pods'], secrets: JSON.parse(data.secrets) as View['secrets'] }
}

async function openCluster(): Promise<Client> {
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  onTestFinished(() => client.close())
  await client.create(crds, Shown.crd() as unknown as UntypedObject)
  for (const each of pods) await client.create(Pod, each)
  for (const each of pods) {
    const name = { name: each.metadata.name!, namespace: 'default' }
    await client.patch(Pod, name, { status: { phase: 'Running' } }, { type: 'merge', subresource: 'status' })
  }
  for (const each of secrets) await client.create(Secret, each)
  await client.create(Shown, cr)
  return client
}

async function live(level: IsolationLevel): Promise<View> {
  const client = await openCluster()
  const runner = await openRunner(level, { module })
  const cache = createSharedCache({ client })
  const host = hostOperator({ operator: runner.operator, client, cache, run: runner.run })
  try {
    await host.start()
    await host.idle()
    return readView(await client.get(ConfigMap, at))
  } finally {
    await host.stop()
    cache.close()
    await runner.close()
  }
}

async function planned(): Promise<View> {
  const client = await openCluster()
  const cache = createSharedCache({ client })
  onTestFinished(() => cache.close())
  const { changes } = await dryRun({ operator, client, cache })
  return readView(changes.find(({ object }) => object.kind === 'ConfigMap')?.after)
}

async function offline(): Promise<View> {
  const world = await openOfflineWorld({ operator, objects: [...pods, ...secrets, cr] })
  await world.run()
  return readView(await world.client.get(ConfigMap, at))
}

/** Fields that an API server adds: the offline run reads the objects as they are in the directory. */
const asWritten = ({ pods: shown, secrets: others }: View): unknown => ({
  pods: shown.filter(({ name }) => name === 'partly'),
  secrets: others,
})

describe('a view with projected inputs', () => {
  it('shows the same live, in a worker, in a dry run and offline', async () => {
    const inline = await live('inline')
    expect(asWritten(inline)).toEqual({
      pods: [
        {
          name: 'partly',
          labels: { app: 'x' },
          apiVersion: 'v1',
          kind: 'Pod',
          spec: { nodeName: 'one', containers: [{ image: 'i:1' }] },
          status: { phase: 'Running' },
        },
      ],
      secrets: [{ name: 'release', labels: { owner: 'helm' }, apiVersion: 'v1', kind: 'Secret' }],
    })
    expect(inline.pods.find(({ name }) => name === 'whole')).toMatchObject({
      spec: { restartPolicy: 'Always', containers: [{ name: 'a', image: 'i:1' }] },
    })
    expect(await live('worker')).toEqual(inline)
    expect(await planned()).toEqual(inline)
    expect(asWritten(await offline())).toEqual(asWritten(inline))
  }, 60_000)
})
