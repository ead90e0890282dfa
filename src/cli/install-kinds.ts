/** Installs the CRDs of operators, and waits until the API server serves them. */
import type { Client } from '../client/client.ts'
import { isConditionTrue } from '../kube/condition.ts'
import type { Resource } from '../kube/kind.ts'
import type { CustomResourceDefinition } from '../kube/types/apiextensions/v1.ts'
import type { Operator } from '../operator/operator.ts'

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Without force: a CRD that another field manager owns with other contents is a conflict that names the manager. */
export async function installKinds(client: Client, { name, kinds }: Operator, signal: AbortSignal): Promise<void> {
  for (const kind of kinds) {
    const crd = kind.crd() as CustomResourceDefinition & { readonly metadata: { readonly name: string } }
    const applied = (await client.apply(crds, crd, { fieldManager: name, signal })) as CustomResourceDefinition
    if (isEstablished(applied)) continue
    const fieldSelector = `metadata.name=${crd.metadata.name}`
    for await (const { type, object } of client.watch<CustomResourceDefinition>(crds, { fieldSelector, signal })) {
      if (type !== 'ERROR' && type !== 'BOOKMARK' && isEstablished(object)) break
    }
  }
  client.discovery.invalidate()
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return isConditionTrue(status?.conditions as Parameters<typeof isConditionTrue>[0], 'Established')
}
