/** A Muster operator's answers to `input-resources` and `output-resources`. */
import type { Json } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { Input, DeclaredOutput, Reference } from '../../operator/view/input.ts'
import type { Operator } from '../../operator/operator.ts'
import { type PlacementRole, placementRoleOf } from '../../operator/placement-role.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import type { ResourceType } from './mutation.ts'
import type { InputResources, OutputResources, ResourceList, ResourceReference } from './resource-list.ts'

const outputs = new WeakMap<Operator, OutputResources>()

export function outputResourcesOf(operator: Operator): OutputResources {
  const known = outputs.get(operator) ?? {
    configurationResources: outputsIn(operator, 'configuration'),
    managementResources: outputsIn(operator, 'management'),
    userWorkloadResources: outputsIn(operator, 'userWorkload'),
  }
  outputs.set(operator, known)
  return known
}

/** Outputs include status and finalizers of its own kinds; Events are written to the cluster of those kinds. */
function outputsIn(operator: Operator, role: PlacementRole): ResourceList {
  const isHere = ({ resource }: Input): boolean => placementRoleOf(resource) === role
  const own = operator.controllers.map((controller): DeclaredOutput => {
    const { own: declared } = controller
    return declared.select === 'labels' ? { select: 'kind', resource: declared.resource } : declared
  })
  const here = [...own, ...operator.declaredOutputs].filter(isHere)
  return {
    ...exactAndGenerated(here),
    ...listed(
      'kindResources',
      here.flatMap((output) => (output.select === 'kind' ? [typeOf(output.resource)] : [])),
    ),
    ...(own.some(isHere) && { eventingNamespaces: ['*'] }),
  }
}

/** Inputs include the outputs in the configuration cluster: an operator reads what it writes. */
export function inputResourcesOf(operator: Operator): InputResources {
  const { declaredInputs } = operator
  const written = outputResourcesOf(operator).configurationResources
  const read = exactAndGenerated(declaredInputs)
  return {
    applyConfigurationResources: {
      ...listed('exactResources', [...(read.exactResources ?? []), ...(written.exactResources ?? [])]),
      ...listed('generatedNameResources', [
        ...(read.generatedNameResources ?? []),
        ...(written.generatedNameResources ?? []),
      ]),
      ...listed(
        'labelSelectedResources',
        declaredInputs.flatMap((input) => {
          if (input.select === 'kind') return [{ ...typeOf(input.resource), labelSelector: {} }]
          if (input.select !== 'labels') return []
          const labelSelector = { matchLabels: input.labels }
          return [{ ...typeOf(input.resource), ...namespaceOf(input), labelSelector }]
        }),
      ),
      ...listed(
        'resourceReferences',
        declaredInputs.flatMap((input) => (input.select === 'reference' ? [referenceOf(input)] : [])),
      ),
    },
  }
}

function exactAndGenerated(inputs: readonly Input[]): Pick<ResourceList, 'exactResources' | 'generatedNameResources'> {
  return {
    ...listed(
      'exactResources',
      inputs.flatMap((input) =>
        input.select === 'name' ? [{ ...typeOf(input.resource), ...namespaceOf(input), name: input.name }] : [],
      ),
    ),
    ...listed(
      'generatedNameResources',
      inputs.flatMap((input) =>
        input.select === 'prefix' ? [{ ...typeOf(input.resource), ...namespaceOf(input), name: input.prefix }] : [],
      ),
    ),
  }
}

function referenceOf(input: Reference): ResourceReference {
  const { from, resource, namePath: nameJSONPath, namespace, namespacePath } = input
  const type = typeOf(resource)
  const referringResource = {
    ...typeOf(from.resource),
    ...(from.select !== 'kind' && namespaceOf(from)),
    ...(from.select === 'name' && { name: from.name }),
  }
  if (namespace !== undefined) {
    const implicitNamespacedReference = { ...type, namespace, nameJSONPath }
    return { referringResource, type: 'ImplicitNamespacedReference', implicitNamespacedReference }
  }
  if (namespacePath !== undefined) {
    const explicitNamespacedReference = { ...type, namespaceJSONPath: namespacePath, nameJSONPath }
    return { referringResource, type: 'ExplicitNamespacedReference', explicitNamespacedReference }
  }
  return { referringResource, type: 'ClusterScopedReference', clusterScopedReference: { ...type, nameJSONPath } }
}

function typeOf({ group, version, plural }: Resource): ResourceType {
  return { group, version, resource: plural }
}

function namespaceOf({ namespace }: { readonly namespace?: string }): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace }
}

/** Unique, sorted independently of the definitions; absent when empty. */
function listed<K extends keyof ResourceList, T>(
  member: K,
  entries: readonly T[],
): { readonly [_ in K]?: readonly T[] } {
  if (entries.length === 0) return {}
  const found = new Map(entries.map((entry) => [JSON.stringify(entry), entry]))
  const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  return { [member]: sorted } as unknown as { readonly [_ in K]?: readonly T[] }
}

/** One YAML document. */
export function describeResources(resources: InputResources | OutputResources): string {
  return writeGoYaml(resources as unknown as Json)
}
