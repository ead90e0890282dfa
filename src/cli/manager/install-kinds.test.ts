import { describe, expect, it, onTestFinished } from 'vitest'
import { App, appOperator } from '../../../test/app-operator.ts'
import type { Client } from '../../client/client.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { Resource } from '../../kube/kind.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { openTestEnvironment } from '../../manager/testing/test-environment.ts'
import type { Operator } from '../../operator/operator.ts'
import { Kyma } from '../../platform/facade/kyma.ts'
import { kymaOperator } from '../../platform/facade/operators.ts'
import { installKinds, refuseForeignKinds } from './install-kinds.ts'

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
const operator = appOperator({})
const { signal } = new AbortController()

async function cluster(of: Operator): Promise<Client> {
  const testEnv = await openTestEnvironment(of, { bare: true, stopped: true })
  onTestFinished(() => testEnv.close())
  return testEnv.client
}

/** The CRD, as another project has it. */
function other(crd: CustomResourceDefinition, change: JsonObject) {
  const { spec, metadata } = asJson(crd) as { readonly spec: JsonObject; readonly metadata: JsonObject }
  return asObject({ ...asJson(crd), metadata: { name: metadata['name']! }, spec: { ...spec, ...change } })
}

const named = (crd: CustomResourceDefinition): { readonly name: string } => ({ name: crd.metadata?.name ?? '' })
const versionOf = async (client: Client, crd: CustomResourceDefinition): Promise<unknown> =>
  (await client.get(crds, named(crd))).metadata.resourceVersion

describe('CRDs of an operator', () => {
  it('are installed, brought up to date, and left as they are by a second start', async () => {
    const client = await cluster(operator)
    await client.apply(crds, other(App.crd(), { names: { ...App.crd().spec.names, shortNames: ['ap'] } }), {
      fieldManager: operator.name,
    })
    await installKinds(client, operator, signal)
    const before = await versionOf(client, App.crd())
    await installKinds(client, operator, signal)
    expect(await versionOf(client, App.crd())).toBe(before)
  })

  it('are not overwritten if another client made them with other contents: the message names it', async () => {
    const client = await cluster(operator)
    const theirs = other(App.crd(), { scope: 'Cluster' })
    await client.create(crds, theirs, { fieldManager: 'another-project' })
    const before = await versionOf(client, App.crd())
    await expect(installKinds(client, operator, signal)).rejects.toThrow(
      /CRD apps\.test\.example\.com was made by another-project, .* kit is not hosted/,
    )
    expect(await versionOf(client, App.crd())).toBe(before)
  })
})

describe('the CRD of a façade', () => {
  it('is refused where the other project has installed its own, with the same contents, too', async () => {
    const client = await cluster(kymaOperator)
    await expect(refuseForeignKinds(client, kymaOperator, signal)).resolves.toBeUndefined()
    await client.create(crds, other(Kyma.crd(), {}), { fieldManager: 'lifecycle-manager' })
    const before = await versionOf(client, Kyma.crd())
    for (const refuse of [refuseForeignKinds, installKinds]) {
      await expect(refuse(client, kymaOperator, signal)).rejects.toMatchObject({ name: 'ForeignDefinition' })
    }
    expect(await versionOf(client, Kyma.crd())).toBe(before)
  })

  it('is no hindrance where it was installed with kubectl', async () => {
    const client = await cluster(kymaOperator)
    await client.create(crds, asObject(asJson(Kyma.crd())), { fieldManager: 'kubectl' })
    await expect(installKinds(client, kymaOperator, signal)).resolves.toBeUndefined()
  })
})
