/** What is left of an Installation that is being deleted, and in which order it goes. */
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { EmbeddedSet, EmbeddingContext } from '../../operator/embedded/embedded-set.ts'
import { neededFields } from '../../operator/embedded/needed-fields.ts'
import type { View } from '../../operator/view/view.ts'
import { objectPlace, holderLabel, installationHolder } from './holder.ts'
import type { InstallationObject } from './installation.ts'
import { isDeletedByPolicy, isHookRun, staysInstalled, removalHooks, removalRank } from './installed-objects.ts'
import type { RevisionContent, RevisionObject } from './revision.ts'
import { isCreatedOnce } from './object-annotations.ts'
import { hasObject, kindsIn, revisionsOf, storedContent } from './stored-revisions.ts'

type Common = Pick<EmbeddedSet, 'holder' | 'namespace' | 'as' | 'drift'>

const definitions = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' }

export async function removal(context: EmbeddingContext<InstallationObject>, common: Common): Promise<EmbeddedSet> {
  const { cr, view } = context
  const nothing = { ...common, phases: [] }
  if (cr.spec.suspend)
    return { ...nothing, waitsFor: 'It is suspended: set spec.suspend to false to remove its objects.' }
  const revisions = revisionsOf(cr, view)
  const kinds = kindsIn(cr.status, revisions)
  // What stays after the Installation belongs to nothing any more.
  const release = { kinds, deletes: isDeletedByPolicy }
  if (cr.spec.deletion === 'orphan') return { ...nothing, release: { kinds } }
  const active = revisions.find(({ spec }) => spec.number === cr.status?.revision)
  const fallback = cr.spec.targetNamespace ?? cr.metadata.namespace
  // It was created with an earlier revision, and given to users.
  const isOfUsers = (object: UntypedObject): boolean =>
    isCreatedOnce(object) && active !== undefined && !hasObject(active, object, fallback)
  const waitsFor = await usersObjects(context, revisions, isOfUsers)
  if (waitsFor !== undefined) return { ...nothing, waitsFor }
  const { before, after } = active ? hooksOf(active, view) : noHooks
  // When the objects are gone, there is nothing to prepare any more: its hooks must not run again after a restart.
  const isEmptied = before.length > 0 && !(await hasObjects(context, kinds))
  const isDone = (object: UntypedObject): boolean => isEmptied && isHookRun(object) && !isDeletedByPolicy(object)
  const keeps = (object: UntypedObject): boolean => staysInstalled(object) || isOfUsers(object) || isDone(object)
  return {
    ...common,
    phases: isEmptied ? [] : before,
    prune: { kinds, rank: removalRank, keeps, toNothing: true },
    afterwards: after,
    release,
  }
}

const noHooks = { before: [], after: [] }

/** Whether it has objects beside hooks. */
async function hasObjects(
  { held, cr }: EmbeddingContext<InstallationObject>,
  kinds: readonly GroupVersionKind[],
): Promise<boolean> {
  for (const kind of kinds) {
    const resource = await held.resourceOf(kind)
    const found = resource ? await held.list(resource, installationHolder(cr.metadata), neededFields(kind)) : []
    if (found.some((object) => !isHookRun(object))) return true
  }
  return false
}

/** A revision whose content is lost has no hooks any more: that must not keep its objects from being removed. */
function hooksOf(active: RevisionObject, view: View): ReturnType<typeof removalHooks> {
  let content: RevisionContent
  try {
    content = storedContent(active, view)
  } catch {
    return noHooks
  }
  return removalHooks(content)
}

/** The metadata of an object says nothing about its kind. */
function typed({ metadata }: UntypedObject, group: string, kind: string): UntypedObject {
  return { apiVersion: `${group}/any`, kind, metadata }
}

/** Objects of users whose CRD would be deleted, and they with it. */
async function usersObjects(
  { held, cr }: EmbeddingContext<InstallationObject>,
  revisions: readonly RevisionObject[],
  isOfUsers: (object: UntypedObject) => boolean,
): Promise<string | undefined> {
  const crds = await held.resourceOf(definitions)
  const hasCrds = revisions.some(({ spec }) =>
    spec.phases.some(({ objects }) => objects.some(({ kind }) => kind === definitions.kind)),
  )
  if (!crds || !hasCrds) return undefined
  const holder = installationHolder(cr.metadata)
  const found: string[] = []
  for (const definition of await held.list(crds, holder, ['spec.group', 'spec.names', 'spec.versions'])) {
    if (staysInstalled(definition)) continue
    const { group, names, versions } = definition['spec'] as CustomResourceDefinition['spec']
    const version = versions.find(({ served }) => served)?.name
    const resource = version === undefined ? undefined : await held.resourceOf({ group, version, kind: names.kind })
    for (const object of resource ? await held.all(resource) : []) {
      const { metadata } = object
      const isOwn = metadata.labels?.[holderLabel] === holder && !isOfUsers(typed(object, group, names.kind))
      if (!isOwn) found.push(objectPlace({ kind: names.kind, ...metadata }))
    }
  }
  if (found.length === 0) return undefined
  const more = found.length > 5 ? ` and ${found.length - 5} more` : ''
  return (
    `Objects of users would be deleted with their CRD: ${found.slice(0, 5).join(', ')}${more}. Delete them first, ` +
    'or annotate the CRD with platform.muster.dev/prune: disabled.'
  )
}
