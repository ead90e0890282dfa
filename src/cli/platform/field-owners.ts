/**
 * Fields of objects change hands with their release. Helm and the operator of Installations both apply objects on the server, and
 * a field stays as long as one field manager owns it: what only the former owner still holds could never be removed again, and
 * what it holds with another value is a conflict for the next one.
 */
import { clientErrors } from '../../client/errors.ts'
import { kindOf } from '../../kube/kind.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { ObjectMeta, UntypedObject } from '../../kube/object.ts'
import { platformName, releasedAnnotation } from '../../platform/installation/holder.ts'
import { formatPointer } from '../../kube/patch/json-pointer.ts'
import { cliFieldManager, ifFound, type InstallationPlace } from './cluster-installation.ts'

type FieldOwners = NonNullable<ObjectMeta['managedFields']>

/** The field manager of Helm. */
const helm = 'helm'
const mostAttempts = 5

/** Helm owns no field any more. */
export function withoutHelm(owners: FieldOwners): FieldOwners {
  return owners.filter(({ manager, subresource }) => manager !== helm || subresource)
}

/** What the operator owned is Helm's. */
export function asHelm(owners: FieldOwners): FieldOwners {
  const hasHelm = owners.some(({ manager, operation, subresource }) =>
    isApplying(manager, operation, subresource, helm),
  )
  return owners.flatMap((entry) => {
    if (entry.manager !== platformName || entry.subresource) return [entry]
    // Its updates let the object go: they set nothing that Helm wants.
    return hasHelm || entry.operation !== 'Apply' ? [] : [{ ...entry, manager: helm }]
  })
}

function isApplying(
  manager: string | undefined,
  operation: string | undefined,
  subresource: string | undefined,
  wanted: string,
): boolean {
  return manager === wanted && operation === 'Apply' && !subresource
}

/** Objects that are gone are left out; one that another client writes meanwhile is read again. */
export async function changeOwners(
  { client, ref, signal }: InstallationPlace,
  objects: readonly UntypedObject[],
  change: (owners: FieldOwners) => FieldOwners,
): Promise<void> {
  for (const object of objects) {
    const resource = await client.discovery.resourceFor(kindOf(object), { signal })
    if (!resource) continue
    const { name = '', namespace = ref.namespace } = object.metadata
    const at = resource.namespaced ? { name, namespace } : { name }
    for (let attempt = 1; ; attempt++) {
      const live = await ifFound(client.get(resource, at, { signal }))
      const owners = live?.metadata.managedFields ?? []
      const changed = change(owners)
      if (!live || (changed.length === owners.length && changed.every((entry, index) => entry === owners[index]))) break
      const isReleased = live.metadata.annotations?.[releasedAnnotation] !== undefined
      const patch = [
        ...(isReleased ? [{ op: 'remove', path: formatPointer(['metadata', 'annotations', releasedAnnotation]) }] : []),
        { op: 'replace', path: '/metadata/managedFields', value: changed },
        { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion },
      ]
      try {
        await client.patch(resource, at, patch, { type: 'json', fieldManager: cliFieldManager, signal })
        break
      } catch (error) {
        if (!isMusterError(error, clientErrors.Conflict) || attempt >= mostAttempts) throw error
      }
    }
  }
}
