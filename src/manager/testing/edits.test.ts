import { afterEach, describe, expect, it } from 'vitest'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { type Edit, edited } from '../../operator/edits.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { roleOf } from '../../operator/role.ts'
import type { EditVerb } from '../../operator/view/input.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

let environment: TestEnvironment | undefined
afterEach(() => environment?.close())

const at = { name: 'web', namespace: 'default' }
const note = { name: 'note', namespace: 'default' }
const wantedLabel = 'example.com/wanted'

function deployment(replicas: number): UntypedObject {
  const labels = { app: 'web' }
  const containers = [{ name: 'web', image: 'web:1' }]
  const template = { metadata: { labels }, spec: { containers } }
  const metadata = { ...at, annotations: { [wantedLabel]: String(replicas) } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas, selector: { matchLabels: labels }, template },
  }
}

/** Deployments of others get the replicas that an annotation names, and a note about each is kept as long as they have some. */
function operator(verbs: readonly EditVerb[] = ['create', 'delete']): Operator {
  return defineOperator({
    name: 'scaler',
    controllers: [
      defineController({
        for: Deployment,
        foreign: true,
        reads: [ConfigMap],
        edits: {
          kinds: [edited(Deployment, ['patch']), edited(ConfigMap, verbs)],
          plan({ cr, view }): readonly Edit[] {
            const replicas = Number(cr.metadata.annotations?.[wantedLabel])
            const live = view.get(ConfigMap, note)
            const change = { change: cr, annotations: { 'example.com/seen': 'yes' }, spec: { replicas } }
            if (live) return replicas === 0 ? [change, { remove: live }] : [change]
            const create = { apiVersion: 'v1', kind: 'ConfigMap', metadata: note, data: { from: 'scaler' } }
            return replicas === 0 ? [change] : [change, { create }]
          },
        },
        status: ({ cr }) => {
          const isMany = cr.spec?.replicas === 7
          return isMany
            ? { conditions: [{ type: 'Many', status: 'True', reason: 'Seven', message: 'Seven.' }] }
            : undefined
        },
      }),
    ],
  })
}

const want = ({ client }: TestEnvironment, replicas: number) =>
  client.patch(Deployment, at, { metadata: { annotations: { [wantedLabel]: String(replicas) } } }, { type: 'merge' })

describe('edits', () => {
  it('change objects of others, once, and leave no mark, owner or finalizer', async () => {
    environment = await openTestEnvironment(operator())
    const { client } = environment
    await environment.create(Deployment, deployment(1))
    await environment.settle()
    await want(environment, 3)
    await environment.settle()
    const { spec, metadata, status } = await client.get(Deployment, at)
    expect(spec?.replicas).toBe(3)
    expect(metadata.labels).toBeUndefined()
    expect(metadata.finalizers).toBeUndefined()
    expect(metadata.annotations).toMatchObject({ 'example.com/seen': 'yes' })
    expect(status?.conditions).toBeUndefined()
    expect((await client.get(ConfigMap, note)).metadata.ownerReferences).toBeUndefined()
    const { length } = environment.writes
    await environment.settle(3_600_000)
    await environment.restart()
    await environment.settle(3_600_000)
    expect(environment.writes).toHaveLength(length)
    await want(environment, 0)
    await environment.settle()
    expect((await client.list(ConfigMap, { namespace: 'default' })).items).toEqual([])
  })

  it('report conditions beside those of the controller that the kind belongs to', async () => {
    environment = await openTestEnvironment(operator())
    const { client } = environment
    await environment.create(Deployment, deployment(7))
    const now = new Date(environment.clock.now()).toISOString()
    const own = { type: 'Available', status: 'True', reason: 'Own', message: '', lastTransitionTime: now }
    await client.patch(Deployment, at, { status: { conditions: [own] } }, { type: 'merge', subresource: 'status' })
    await environment.settle()
    const { conditions = [] } = (await client.get(Deployment, at)).status ?? {}
    expect(new Set(conditions.map(({ type }) => type))).toEqual(new Set(['Available', 'Many']))
  })

  it('rest on the object that was read: one that has changed since is read again first', async () => {
    const answers: number[] = []
    environment = await openTestEnvironment(operator(), {
      wire: (transport) => ({
        ...transport,
        async send(request) {
          const isEdit = request.method === 'PATCH' && request.path.includes('/deployments/web')
          // Between the read and the first write, a person changes the object.
          if (isEdit && answers.length === 0) await want(environment!, 5)
          const response = await transport.send(request)
          if (isEdit) answers.push(response.status)
          return response
        },
      }),
    })
    await environment.create(Deployment, deployment(1))
    await environment.settle(60_000)
    expect(answers).toEqual([409, 200])
    expect((await environment.client.get(Deployment, at)).spec?.replicas).toBe(5)
  })

  it('are refused unless they are declared, with their verb', async () => {
    environment = await openTestEnvironment(operator(['delete']))
    await environment.create(Deployment, deployment(2))
    await environment.settle()
    expect((await environment.client.list(ConfigMap, { namespace: 'default' })).items).toEqual([])
    expect(environment.ledgers.at(-1)?.failure?.message).toContain(
      'wants to write ConfigMap default/note, but declares configmaps/v1 (delete) only',
    )
  })

  it('of kinds that are not declared, and of objects that exist, are errors', async () => {
    const reasons: (string | undefined)[] = []
    const metadata = { ...note, namespace: 'default' }
    for (const create of [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata },
    ]) {
      const kinds = create.kind === 'Node' ? [edited(Deployment, ['patch'])] : [edited(ConfigMap, ['create'])]
      const plan = () => [{ create }]
      const controller = defineController({ for: Deployment, foreign: true, edits: { kinds, plan } })
      environment = await openTestEnvironment(defineOperator({ name: 'scaler', controllers: [controller] }), {
        log: () => undefined,
      })
      await environment.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { from: 'a user' } })
      await environment.create(Deployment, deployment(2))
      await environment.settle()
      reasons.push(environment.ledgers.at(-1)?.failure?.message)
      expect((await environment.client.get(ConfigMap, note)).data).toEqual({ from: 'a user' })
      await environment.close()
    }
    expect(reasons).toEqual([
      'scaler, controller deployment edits Node of v1, but declares Deployment of apps/v1 in edits.',
      'ConfigMap/default/note exists already, and scaler, controller deployment has not made it.',
    ])
  })

  it('need the declared verbs in the role, and no others', () => {
    const verbsFor = (group: string, plural: string): readonly string[] =>
      (roleOf(operator(['delete'])).rules ?? [])
        .filter(({ apiGroups = [], resources = [] }) => apiGroups.includes(group) && resources.includes(plural))
        .flatMap(({ verbs }) => verbs)
        .toSorted((a, b) => (a < b ? -1 : 1))
    expect(verbsFor('apps', 'deployments')).toEqual(['list', 'patch', 'watch'])
    expect(verbsFor('', 'configmaps')).toEqual(['delete', 'list', 'watch'])
  })
})
