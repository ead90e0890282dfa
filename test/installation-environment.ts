/** An embedded cluster with the operator of Installations, in virtual time; sources for it, and what became of them. */
import { expect, onTestFinished } from 'vitest'
import { seededRandom } from '../src/clock/random.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { ConfigMap } from '../src/kube/kinds.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { JsonObject } from '../src/kube/json.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf } from '../src/kube/typed-resource.ts'
import { readYamlDocuments } from '../src/kube/yaml/yaml.ts'
import { openTestEnvironment, type TestEnvironment } from '../src/manager/testing/test-environment.ts'
import { Installation, type InstallationObject } from '../src/platform/installation/installation.ts'
import { installationOperator } from '../src/platform/installation/operator.ts'

const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
export const at = (name: string): { readonly name: string; readonly namespace: string } => ({
  name,
  namespace: 'default',
})
export const crds: Resource = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')

export async function opened(workloads = false): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator, { workloads })
  onTestFinished(() => testEnv.close())
  return testEnv
}

export const configMap = (name: string, value = 'x', metadata = ''): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name}${metadata} }\ndata: { key: "${value}" }\n`
export const deployment = (image: string, replicas = 1): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${replicas}
  progressDeadlineSeconds: 60
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web }, annotations: { simulated.muster.dev/fail-image-pull: "${image.startsWith('missing')}" } }, spec: { containers: [{ name: web, image: "${image}" }] } }
`
export const definition = (properties: string, name = 'things'): string => `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${name}.example.org }
spec:
  group: example.org
  names: { kind: Thing, plural: ${name}, singular: thing, listKind: ThingList }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { ${properties} } } } } } }]
`
export const thing = '---\napiVersion: example.org/v1\nkind: Thing\nmetadata: { name: ours }\n'

export const installation = (spec: JsonObject, name = 'shop'): UntypedObject => ({
  apiVersion: 'platform.muster.dev/v1alpha1',
  kind: 'Installation',
  metadata: at(name),
  spec,
})
export const manifests = (text: string, more: JsonObject = {}, name?: string): UntypedObject =>
  installation({ source: { manifests: { text } }, ...more }, name)
export const chart = (files: Readonly<Record<string, string>>, more: JsonObject = {}): UntypedObject =>
  installation({
    source: { chart: { files: { 'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\n', ...files } } },
    ...more,
  })
export const install = async (testEnv: TestEnvironment, object: UntypedObject, ms = 60_000): Promise<void> => {
  await testEnv.create(Installation, object)
  await testEnv.settle(ms)
}
export const change = async (testEnv: TestEnvironment, spec: JsonObject, ms = 60_000): Promise<void> => {
  await testEnv.client.patch(Installation, at('shop'), { spec }, { type: 'merge', fieldManager: 'kubectl' })
  await testEnv.settle(ms)
}
export const upgrade = async (testEnv: TestEnvironment, text: string, ms?: number): Promise<void> =>
  await change(testEnv, { source: { manifests: { text } } }, ms)
export const uninstall = async (testEnv: TestEnvironment): Promise<void> => {
  await testEnv.client.delete(Installation, at('shop'))
  await testEnv.settle(60_000)
}
export const read = async ({ client }: TestEnvironment, name = 'shop'): Promise<InstallationObject> =>
  await client.get(Installation, at(name))
export const condition = async (testEnv: TestEnvironment, type = 'Ready', name = 'shop'): Promise<string> => {
  const found = (await read(testEnv, name)).status?.conditions?.find((one) => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}
export const configMaps = async ({
  client,
}: TestEnvironment): Promise<Readonly<Record<string, string | undefined>>> => {
  const { items } = await client.list(ConfigMap, { namespace: 'default' })
  return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data?.['key']]))
}
export const objectsIn = (text: string): readonly UntypedObject[] =>
  readYamlDocuments(text).flatMap((one) => (one === null ? [] : [one as UntypedObject]))
/** Whatever is wrong, the API server is not called in a loop. */
export const expectRest = async (testEnv: TestEnvironment, most = 0): Promise<void> => {
  const { length } = testEnv.writes
  await testEnv.clock.advance(600_000)
  expect(testEnv.writes.slice(length).length).toBeLessThanOrEqual(most)
}
/** As `expectRest`, for what is retried: at least a minute apart, later more. */
export const retries = 30
