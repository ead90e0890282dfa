/** What the protection of installed objects allows and refuses: the same on the embedded and on the real server. */
import { expect } from 'vitest'
import type { Client, PatchOptions } from '../src/client/client.ts'
import type { JsonObject } from '../src/kube/json.ts'
import { ConfigMap, Deployment, RoleBinding } from '../src/kube/kinds.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import type { TypedResource } from '../src/kube/typed-resource.ts'
import { protectionObjects, type ProtectionMode } from '../src/platform/protection/protection-policy.ts'

/**
 * The objects of the protection, for one namespace of a server that others use. An expression that cannot be evaluated
 * refuses the request here, so that it shows.
 */
export function protectionOf(mode: ProtectionMode, namespace: string): readonly UntypedObject[] {
  const [policy, binding] = protectionObjects(mode) as readonly [UntypedObject, UntypedObject]
  const metadata = { name: `protection-${namespace}` }
  const { matchConditions, ...spec } = policy['spec'] as { readonly matchConditions: readonly JsonObject[] }
  const here = { name: 'here', expression: `has(request.namespace) && request.namespace == '${namespace}'` }
  return [
    { ...policy, metadata, spec: { ...spec, failurePolicy: 'Fail', matchConditions: [here, ...matchConditions] } },
    { ...binding, metadata, spec: { ...(binding['spec'] as object), policyName: metadata.name } },
  ]
}

interface ProtectedNamespace {
  readonly client: Client
  readonly namespace: string
}

const labels = { 'platform.muster.dev/installation': 'shops.web' }
const kubectl = 'kubectl-edit'
const breakGlass = 'platform.muster.dev/break-glass'

export function configMapOf(
  namespace: string,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { ...labels, tier: 'a' }, annotations },
    data: { key: 'x' },
  }
}

const deploymentOf = (namespace: string): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace, labels },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'web', image: 'web:1' },
          { name: 'side', image: 'side:1' },
        ],
      },
    },
  },
})

function hands({ client, namespace }: ProtectedNamespace) {
  const at = (name: string) => ({ name, namespace })
  const edit = async (
    kind: TypedResource,
    name: string,
    patch: JsonObject,
    options: Partial<PatchOptions> = {},
  ): Promise<unknown> =>
    await client.patch(kind, at(name), patch, { type: 'strategic', fieldManager: kubectl, ...options })
  return { at, edit }
}

export async function expectConfigMapsProtected(place: ProtectedNamespace): Promise<void> {
  const { client, namespace } = place
  const { at, edit } = hands(place)
  const { metadata } = await client.create(ConfigMap, configMapOf(namespace, 'a'))
  const refused =
    `ConfigMap ${namespace}/a is managed by Installation shops/web and is not to be edited by hand, but for its labels and ` +
    'annotations, and the replicas and resources of workloads. Change the Installation, or the component of its name in the ' +
    `Platform. In an emergency: kubectl annotate configmaps -n ${namespace} a platform.muster.dev/break-glass=REASON leaves`
  await expect(edit(ConfigMap, 'a', { data: { key: 'y' } })).rejects.toThrow(refused)
  await expect(edit(ConfigMap, 'a', { data: null })).rejects.toThrow('is not to be edited')
  await expect(edit(ConfigMap, 'a', { binaryData: { more: 'eA==' } })).rejects.toThrow('is not to be edited')
  await expect(client.update(ConfigMap, { ...configMapOf(namespace, 'a'), data: {} })).rejects.toThrow(
    'not to be edited',
  )
  // Metadata is free, but for the label.
  await edit(ConfigMap, 'a', { metadata: { labels: { tier: 'b', more: 'c' }, annotations: { note: 'x' } } })
  await edit(ConfigMap, 'a', { metadata: { finalizers: ['example.com/wait'] } })
  await edit(ConfigMap, 'a', { metadata: { finalizers: null } }, { type: 'merge' })
  for (const value of [null, 'other']) {
    const taken = edit(ConfigMap, 'a', { metadata: { labels: { [Object.keys(labels)[0]!]: value } } })
    await expect(taken).rejects.toThrow('must keep its label platform.muster.dev/installation')
  }
  await expect(client.delete(ConfigMap, at('a'))).rejects.toThrow('is not to be deleted by hand')
  await expect(
    client.deleteCollection(ConfigMap, { namespace, labelSelector: 'platform.muster.dev/installation' }),
  ).rejects.toThrow('is not to be deleted by hand')
  // Muster itself, whatever its account is.
  await edit(ConfigMap, 'a', { data: { key: 'z' } }, { fieldManager: 'muster-platform' })
  await client.apply(ConfigMap, configMapOf(namespace, 'a'), { fieldManager: 'muster-platform', force: true })
  await client.delete(ConfigMap, at('a'), { preconditions: { uid: metadata.uid! } })
  // Objects without the label.
  const { labels: _, ...free } = configMapOf(namespace, 'free').metadata
  await client.create(ConfigMap, { ...configMapOf(namespace, 'free'), metadata: free })
  await edit(ConfigMap, 'free', { data: { key: 'y' }, metadata: { labels } })
  await edit(ConfigMap, 'free', { metadata: { annotations: { [breakGlass]: 'the end of a test' } } })
  await client.delete(ConfigMap, at('free'))
}

export async function expectWorkloadsProtected(place: ProtectedNamespace): Promise<void> {
  const { client, namespace } = place
  const { at, edit } = hands(place)
  const { metadata } = await client.create(Deployment, deploymentOf(namespace))
  const pod = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } })
  await edit(Deployment, 'web', { spec: { replicas: 3 } })
  await client.setScale(Deployment, at('web'), 2)
  await edit(Deployment, 'web', pod({ containers: [{ name: 'side', resources: { requests: { cpu: '1' } } }] }))
  await edit(Deployment, 'web', { spec: { replicas: null } })
  const refused: readonly JsonObject[] = [
    pod({ containers: [{ name: 'web', image: 'web:2' }] }),
    pod({ containers: [{ name: 'web', image: 'web:2', resources: { requests: { cpu: '1' } } }] }),
    pod({ containers: [{ name: 'third', image: 'third:1' }] }),
    pod({ containers: [{ name: 'side', $patch: 'delete' }] }),
    pod({ serviceAccountName: 'other' }),
    { spec: { replicas: 2, minReadySeconds: 7 } },
    { spec: { replicas: 2, template: { metadata: { annotations: { note: 'x' } } } } },
  ]
  for (const patch of refused) await expect(edit(Deployment, 'web', patch)).rejects.toThrow('is not to be edited')
  await edit(Deployment, 'web', { status: { observedGeneration: 1 } }, { subresource: 'status', type: 'merge' })
  const deleted = client.delete(Deployment, at('web'))
  await expect(deleted).rejects.toThrow(`kubectl annotate deployments.apps -n ${namespace} web ${breakGlass}=`)
  await client.delete(Deployment, at('web'), { preconditions: { uid: metadata.uid! } })
}

export async function expectWaysOut(place: ProtectedNamespace): Promise<void> {
  const { client, namespace } = place
  const { at, edit } = hands(place)
  await client.create(ConfigMap, configMapOf(namespace, 'a'))
  await edit(ConfigMap, 'a', { metadata: { annotations: { [breakGlass]: '' } } })
  await expect(edit(ConfigMap, 'a', { data: { key: 'y' } })).rejects.toThrow('is not to be edited')
  await edit(ConfigMap, 'a', { metadata: { annotations: { [breakGlass]: 'incident 12' } } })
  await edit(ConfigMap, 'a', { data: { key: 'y' } })
  await edit(ConfigMap, 'a', { metadata: { annotations: { [breakGlass]: null } } })
  await expect(edit(ConfigMap, 'a', { data: { key: 'z' } })).rejects.toThrow('is not to be edited')
  // An annotation and an edit at once.
  await edit(ConfigMap, 'a', { data: { key: 'z' }, metadata: { annotations: { [breakGlass]: 'incident 13' } } })
  await client.delete(ConfigMap, at('a'))
  await client.create(ConfigMap, configMapOf(namespace, 'free', { 'platform.muster.dev/managed': 'false' }))
  await edit(ConfigMap, 'free', { data: { key: 'y' } })
  await client.delete(ConfigMap, at('free'))
  // It belongs to users altogether.
  await client.create(ConfigMap, configMapOf(namespace, 'mine', { 'platform.muster.dev/policy': 'create-once' }))
  await edit(ConfigMap, 'mine', { data: { key: 'y' } })
  await client.delete(ConfigMap, at('mine'))
  // Users own its content; its deletion may be an accident all the same.
  const { metadata } = await client.create(
    ConfigMap,
    configMapOf(namespace, 'once', { 'platform.muster.dev/policy': 'create-only' }),
  )
  await edit(ConfigMap, 'once', { data: { key: 'y' } })
  await expect(client.delete(ConfigMap, at('once'))).rejects.toThrow('is not to be deleted')
  await client.delete(ConfigMap, at('once'), { preconditions: { uid: metadata.uid! } })
}

/** A person with the same rights is not. */
export async function expectControllersFree(place: ProtectedNamespace, accounts: readonly string[]): Promise<void> {
  const { client, namespace } = place
  const { at, edit } = hands(place)
  await client.create(RoleBinding, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: at('all-of-them'),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [...accounts, 'jane'].map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
  })
  for (const account of accounts) {
    await client.create(ConfigMap, configMapOf(namespace, 'a'))
    const byJane = edit(ConfigMap, 'a', { data: { key: 'y' } }, { impersonate: 'jane' })
    await expect(byJane).rejects.toThrow('is not to be edited')
    await expect(client.delete(ConfigMap, at('a'), { impersonate: 'jane' })).rejects.toThrow('is not to be deleted')
    await edit(ConfigMap, 'a', { data: { key: 'y' } }, { impersonate: account })
    await client.delete(ConfigMap, at('a'), { impersonate: account })
  }
  await client.delete(RoleBinding, at('all-of-them'))
}
