/** A manager with findings, on an embedded server in real time, for the console. */
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { consolePage } from '../src/console/page.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { type ManagerService, startManagerService } from '../src/manager/runtime/manager-service.ts'
import { defineController } from '../src/operator/controller.ts'
import { exactly } from '../src/operator/view/input.ts'
import { integer, string } from '../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../src/operator/kind/kind.ts'
import { ConfigMap } from '../src/kube/kinds.ts'
import { defineOperator, type Operator } from '../src/operator/operator.ts'
import { defineDependent } from '../src/operator/dependent/dependent.ts'
import { crds } from './embedded.ts'

/** Untrusted text. */
export const hostile = '<img src=x onerror="document.title=\'taken\'">'

type Small = Operator & { readonly own: Kind }

interface Habits {
  readonly name: string
  /** Writes the value of another operator's ConfigMap plus one into its own. */
  readonly follows?: string
  readonly fails?: boolean
}

function small({ name, follows, fails = false }: Habits): Small {
  const own = defineKind({
    group: 'console.example.com',
    version: 'v1',
    kind: name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    spec: { size: integer({ default: 1 }), note: string({ default: '' }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${cr.metadata.name}-${name}`,
    fromCR({ cr, view }) {
      const { namespace } = cr.metadata
      const seen = follows === undefined ? undefined : view.get(ConfigMap, { name: follows, namespace })
      return {
        data: { size: follows === undefined ? String(cr.spec.size) : `${Number(seen?.data?.['size'] ?? 0) + 1}` },
      }
    },
  })
  const controller = defineController({
    for: own,
    dependents: [config],
    ...(follows !== undefined && { reads: [exactly(ConfigMap, { name: follows, namespace: 'default' })] }),
    check({ cr }) {
      if (fails) throw new Error(`nothing can be made of ${cr.spec.note}`)
    },
  })
  return { ...defineOperator({ name, controllers: [controller] }), own }
}

export interface ManagerWithFindings {
  readonly service: ManagerService
  readonly client: Client
  /** A CR of the healthy operator. */
  readonly calm: (name: string) => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** `more`: further healthy operators. */
export async function startManagerWithFindings(
  more = 0,
  environment: Readonly<Record<string, string>> = {},
): Promise<ManagerWithFindings> {
  const operators = [
    // Each writes one more than the other has: they never rest.
    small({ name: 'echo', follows: 'a-sounder' }),
    small({ name: 'sounder', follows: 'a-echo' }),
    small({ name: 'contested' }),
    small({ name: 'failing', fails: true }),
    small({ name: 'calm' }),
    ...Array.from({ length: more }, (_, index) => small({ name: `quiet-${index}` })),
  ]
  const server = createApiServer({ clock: systemClock })
  const client = createClient({ transport: inProcessTransport(server) })
  for (const { own } of operators) await client.create(crds, own.crd() as unknown as UntypedObject)
  const service = await startManagerService({
    environment: { MUSTER__health__port: '0', MUSTER__metrics__port: '0', ...environment },
    declared: () => Promise.resolve(operators),
    load: (name) => Promise.resolve({ operator: operators.find((operator) => operator.name === name)! }),
    connect(_, { around }) {
      const own = createClient({ transport: around!(inProcessTransport(server), 'embedded') })
      return Promise.resolve({ client: own, as: () => own })
    },
    reach: () => Promise.reject(new Error('there is no other cluster')),
    identity: 'replica-of-the-test',
    page: consolePage(),
    log: () => undefined,
  })
  const create = async (name: string, of: string, spec: object = {}): Promise<unknown> => {
    const { own } = operators.find((operator) => operator.name === of)!
    return await client.create(own, own.draft({ name, namespace: 'default' }, spec) as unknown as UntypedObject)
  }
  const ended = new AbortController()
  await service.runtime.settled()
  for (const { name } of operators) await create('a', name, name === 'failing' ? { note: hostile } : {})
  const undoing = undo(client, 'a-contested', ended.signal)
  return {
    service,
    client,
    calm: (name) => create(name, 'calm'),
    async stop() {
      ended.abort(new Error('enough'))
      await undoing
      await service.stop()
    },
  }
}

/** A client with other values, under an invalid name. */
async function undo(client: Client, name: string, signal: AbortSignal): Promise<void> {
  try {
    const watch = client.watch(ConfigMap, { namespace: 'default', fieldSelector: `metadata.name=${name}`, signal })
    for await (const { type, object } of watch) {
      if (type !== 'ADDED' && type !== 'MODIFIED') continue
      if (object.data?.['size'] !== '1') continue
      const body = { data: { size: 'mine' } }
      await client.patch(ConfigMap, { name, namespace: 'default' }, body, { type: 'merge', fieldManager: hostile })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
