/** What the compiler knows about `@muster-dev/muster/client`. Compiled by the type check, never run. */
import type { Client } from '@muster-dev/muster/client'
import type { KubeObject, Resource } from '@muster-dev/muster/kube'
import { ConfigMap, defineKind, Deployment, integer, type ObjectOf, Pod, resourceOf } from '@muster-dev/muster/operator'
import { expectTypeOf } from 'vitest'

declare const client: Client
declare const resource: Resource
const name = { name: 'a', namespace: 'default' }

const App = defineKind({ group: 'example.com', version: 'v1', kind: 'App', spec: { size: integer({ default: 1 }) } })
type App = ObjectOf<typeof App>

/** A kind of another project, as `muster generate types` writes it. */
interface Certificate extends KubeObject {
  readonly spec: { readonly dnsNames: readonly string[] }
}
const Certificate = resourceOf<Certificate>('cert-manager.io/v1', 'Certificate', {
  plural: 'certificates',
  namespaced: true,
})

// Reads have the type of their resource, and a name.
const deployment = await client.get(Deployment, name)
expectTypeOf(deployment).toEqualTypeOf<Deployment>()
expectTypeOf(deployment.metadata.name).toEqualTypeOf<string>()
expectTypeOf(deployment.spec.replicas).toEqualTypeOf<number | undefined>()
// @ts-expect-error: no such field
void deployment.spec.replica

const app = await client.get(App, name)
expectTypeOf(app).toEqualTypeOf<App>()
expectTypeOf(app.spec.size).toEqualTypeOf<number>()

const certificate = await client.get(Certificate, name)
expectTypeOf(certificate.spec.dnsNames).toEqualTypeOf<readonly string[]>()
expectTypeOf(certificate.metadata.name).toEqualTypeOf<string>()

expectTypeOf((await client.list(Pod)).items).toEqualTypeOf<readonly Pod[]>()
expectTypeOf((await client.listPage(Pod)).items[0]!.metadata.name).toEqualTypeOf<string>()
for await (const event of client.watch(ConfigMap)) {
  if (event.type === 'ADDED') expectTypeOf(event.object).toEqualTypeOf<ConfigMap>()
}
const patched = await client.patch(Deployment, name, { spec: { replicas: 2 } }, { type: 'merge' })
expectTypeOf(patched).toEqualTypeOf<Deployment>()
expectTypeOf((await client.listMetadata(Pod)).items[0]!.metadata.name).toEqualTypeOf<string>()

// A draft may be without a name; what was created has one.
const draft = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a-' }, data: { a: 'b' } }
const created = await client.create(ConfigMap, draft)
expectTypeOf(created.metadata.name).toEqualTypeOf<string>()
expectTypeOf(created.data.a).toEqualTypeOf<string>()

// A resource from discovery has no type: members are unknown, unless the caller names the type.
const untyped = await client.get(resource, name)
expectTypeOf(untyped['spec']).toBeUnknown()
expectTypeOf(untyped.metadata.name).toEqualTypeOf<string>()
expectTypeOf(await client.get<Pod>(resource, name)).toEqualTypeOf<Pod>()

// @ts-expect-error: a Deployment is no Pod
const pod: Pod = await client.get(Deployment, name)
void pod
