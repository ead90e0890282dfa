/** The contents of `muster up`: example operators, sample objects, and commands to try. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { managerErrors } from '../../manager/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { codeflareComponent } from '../../workloads/codeflare-component.ts'
import { bundledComponents } from '../../platform/bundled/bundled-components.ts'
import { largeNode, sampleAppWrappers } from './sample-appwrappers.ts'
import { shopChart } from './shop-chart.ts'

const names = ['memcached', 'database']

/** Sources in a checkout; built in a package, since Node does not load TypeScript from `node_modules`. */
export function exampleFiles(): readonly string[] {
  return names.map((name) => {
    const places = [`../../examples/${name}.js`, `../../../examples/${name}/operator.ts`]
    const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
    const file = files.find((each) => existsSync(each))
    if (file === undefined)
      throw new MusterError(managerErrors.ModuleUnusable, `The example ${name} is not here: ${files.join(', ')}.`)
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

const components = clusterScoped('Component', 'components')
const componentVersions = clusterScoped('ComponentVersion', 'componentversions')
const platforms = clusterScoped('Platform', 'platforms')

function clusterScoped(kind: string, plural: string): Resource {
  return { group: 'platform.muster.dev', version: 'v1alpha1', kind, plural, namespaced: false }
}

const installations: Resource = {
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'Installation',
  plural: 'installations',
  namespaced: true,
}

/** For a new cluster. */
export const samples: readonly (readonly [Resource, UntypedObject])[] = [
  [secrets, secret('sample-password', { password: 'open sesame' })],
  [secrets, secret('orders-sidecar', { token: 'a-token-of-the-simulated-sidecar' })],
  [memcacheds, sample(memcacheds, 'sample', { size: 3, memoryMegabytes: 128, passwordFrom: 'sample-password' })],
  [memcacheds, sample(memcacheds, 'small', { size: 1 })],
  [databases, sample(databases, 'orders', { tokenFrom: 'orders-sidecar', backupTo: '/data/backup.rdb' })],
  [
    installations,
    sample(installations, 'shop', {
      source: { chart: { files: shopChart } },
      values: { image: 'shop:1' },
      timeout: '20s',
      remediation: { retryInterval: '10m' },
    }),
  ],
  ...sampleAppWrappers,
  ...[...bundledComponents(), ...codeflareComponent()].map(
    (object) => [object.kind === 'Component' ? components : componentVersions, object] as const,
  ),
  [
    platforms,
    {
      apiVersion: 'platform.muster.dev/v1alpha1',
      kind: 'Platform',
      metadata: { name: 'default' },
      spec: { components: [{ name: 'greeting' }, { name: 'notices', managementState: 'Removed' }] },
    },
  ],
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

/** `npm start` runs in a checkout; a package is started by `npx`. */
const ownCommand = import.meta.url.endsWith('.ts') ? 'bin/muster' : 'npx muster'

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
  {
    what: 'upgrade an installation of a chart',
    command: `kubectl patch installation shop --type=merge -p '{"spec":{"values":{"image":"shop:2"}}}'`,
    effect: 'its Deployment follows',
  },
  {
    what: 'break it',
    command: `kubectl patch installation shop --type=merge -p '{"spec":{"values":{"image":"missing:3"}}}'`,
    effect: 'after 20 s revision 2 is active again (kubectl get installation shop)',
  },
  {
    what: 'roll it back',
    command: `kubectl patch installation shop --type=merge -p '{"spec":{"revision":1}}'`,
    effect: 'the first revision, as it was rendered',
  },
  {
    what: 'switch a component on, another off',
    command: `kubectl patch platform default --type=merge -p '{"spec":{"components":[{"name":"notices"}]}}'`,
    effect: 'kubectl get platform,notices',
  },
  {
    what: 'list the workloads of the queue',
    command: 'kubectl get appwrappers -o wide',
    effect: 'one runs and succeeds, one waits',
  },
  {
    what: 'ask why one waits',
    command: `${ownCommand} queue explain large`,
    effect: 'what it asks for, and what the nodes have',
  },
  {
    what: 'add a node',
    command: `echo '${JSON.stringify(largeNode)}' | kubectl create -f -`,
    effect: 'there is room, and it starts',
  },
]
