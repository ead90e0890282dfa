/** The contents of `muster up`: example operators, sample objects, and commands to try. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MusterError } from '../kube/errors.ts'
import type { Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'

const names = ['memcached', 'database']

/** Sources in a checkout; built in a package, since Node does not load TypeScript from `node_modules`. */
export function exampleFiles(): readonly string[] {
  return names.map((name) => {
    const places = [`../examples/${name}.js`, `../../examples/${name}/operator.ts`]
    const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
    const file = files.find((each) => existsSync(each))
    if (file === undefined)
      throw new MusterError('ModuleUnusable', `The example ${name} is not here: ${files.join(', ')}.`)
    return file
  })
}

const secrets: Resource = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }
const memcacheds: Resource = {
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  plural: 'memcacheds',
  namespaced: true,
}
const databases: Resource = {
  group: 'db.example.com',
  version: 'v1alpha1',
  kind: 'Database',
  plural: 'databases',
  namespaced: true,
}

/** For a new cluster. */
export const samples: readonly (readonly [Resource, UntypedObject])[] = [
  [secrets, secret('sample-password', { password: 'open sesame' })],
  [secrets, secret('orders-sidecar', { token: 'a-token-of-the-simulated-sidecar' })],
  [memcacheds, sample(memcacheds, 'sample', { size: 3, memoryMegabytes: 128, passwordFrom: 'sample-password' })],
  [memcacheds, sample(memcacheds, 'small', { size: 1 })],
  [databases, sample(databases, 'orders', { tokenFrom: 'orders-sidecar', backupTo: '/data/backup.rdb' })],
]

/** Marks that the samples were created. */
export const sampleMark: readonly [Resource, UntypedObject] = [
  { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'muster-up', namespace: 'default' }, data: {} },
]

function sample({ group, version, kind }: Resource, name: string, spec: object): UntypedObject {
  return { apiVersion: `${group}/${version}`, kind, metadata: { name, namespace: 'default' }, spec }
}

function secret(name: string, stringData: Readonly<Record<string, string>>): UntypedObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, stringData }
}

/** Quoted for a shell, one by one. */
export const tries: readonly { readonly what: string; readonly command: string; readonly effect: string }[] = [
  {
    what: 'change a CR',
    command: `kubectl patch memcached sample --type=merge -p '{"spec":{"size":5}}'`,
    effect: 'its Deployment follows',
  },
  {
    what: 'break a child',
    command: 'kubectl scale deployment sample --replicas=0',
    effect: 'it is put right, and an Event says so',
  },
]
