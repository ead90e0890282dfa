/** What the cluster shows of installations by other means. Read as metadata, and only for components that may meet one. */
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { Secret } from '../../kube/kinds.ts'
import type { EmbeddingContext } from '../../operator/embedded/embedded-set.ts'
import type { HeldAllOptions, HeldObjects } from '../../operator/embedded/held-objects.ts'
import { type Input, labelled } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import type { View } from '../../operator/view/view.ts'
import { type PreinstalledOperator, preinstalledOperators } from '../catalogue/preinstalled.ts'
import { holderLabel, installationHolder, objectPlace, releasedAnnotation } from '../installation/holder.ts'
import { publishedCrds, versionOf } from './component-catalogue.ts'
import type { PlatformObject } from './platform.ts'
import { type PlatformSituation, releasedKinds, targetVersion, wantedComponents } from './platform-situation.ts'

const crds = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' }
const subscriptions = { group: 'operators.coreos.com', version: 'v1alpha1', kind: 'Subscription' }
const serviceVersions = { group: 'operators.coreos.com', version: 'v1alpha1', kind: 'ClusterServiceVersion' }

/** The Secrets in which Helm keeps releases, without their content, which is large. */
export const helmSecrets: Input = fields(labelled(Secret, { labels: { owner: 'helm' } }), [])

/** By component; those that the Platform has installed have none. */
export async function preinstalledOn(
  { held, view }: Pick<EmbeddingContext<PlatformObject>, 'held' | 'view'>,
  situation: Omit<PlatformSituation, 'serves' | 'objectsOf' | 'preinstalled' | 'reported'>,
): Promise<ReadonlyMap<string, readonly PreinstalledOperator[]>> {
  const { catalogue, installations, spec } = situation
  const asked = wantedComponents(situation).flatMap((component) => {
    const { name, managementState } = component
    if (managementState === 'Removed' || installations.has(name)) return []
    const signs = catalogue.components.get(name)?.spec.preinstalled
    const isUnmanaged = managementState === 'Unmanaged'
    const own = isUnmanaged
      ? publishedCrds(catalogue, name)
      : (versionOf(catalogue, name, targetVersion(component, situation))?.spec.crds ?? [])
    const holder = installationHolder({ name, namespace: spec.namespace })
    return signs ? [{ name, signs, own, isUnmanaged, holder }] : []
  })
  const found = new Map<string, readonly PreinstalledOperator[]>()
  if (asked.length === 0) return found
  const definitions = await all(held, crds, { managedFields: true })
  const traces = {
    subscriptions: (await all(held, subscriptions, { fields: ['spec.name'] })).map(packageOf),
    serviceVersions: (await all(held, serviceVersions)).filter(isOriginal).map(packageOf),
    helmReleases: helmReleases(view),
  }
  for (const { name, signs, own, isUnmanaged, holder } of asked) {
    const known = preinstalledOperators(signs, own, { ...traces, crds: foreignCrds(definitions, holder, isUnmanaged) })
    // What the Platform itself has let go is there, too; a component that is switched on takes it back.
    const isUnknown = isUnmanaged && known.length === 0
    found.set(name, isUnknown ? await releasedObjects(held, releasedKinds(name, situation), holder) : known)
  }
  return found
}

async function all(
  held: HeldObjects,
  kind: GroupVersionKind,
  options?: HeldAllOptions,
): Promise<readonly UntypedObject[]> {
  const resource = await held.resourceOf(kind)
  return resource ? await held.all(resource, options) : []
}

/** Those of the first kind that has any: each further kind would be watched. */
async function releasedObjects(
  held: HeldObjects,
  kinds: readonly GroupVersionKind[],
  holder: string,
): Promise<readonly PreinstalledOperator[]> {
  for (const kind of kinds) {
    const released = (await all(held, kind)).filter(({ metadata }) => isReleasedBy(metadata, holder))
    if (released.length > 0)
      return released.map(({ metadata }) => ({ place: `${objectPlace({ kind: kind.kind, ...metadata })}, ${letGo}` }))
  }
  return []
}

const letGo = 'let go by the Platform'

function isReleasedBy({ annotations = {} }: UntypedObject['metadata'], holder: string): boolean {
  return annotations[releasedAnnotation] === holder
}

/** Each revision of a release is a Secret. */
function helmReleases(view: View): readonly { name: string; namespace: string }[] {
  const releases = view.list(Secret, { labels: 'owner=helm' }).flatMap(({ metadata: { labels, namespace = '' } }) => {
    const name = labels?.['name']
    return name === undefined || labels?.['status'] === 'uninstalled' ? [] : [{ name, namespace }]
  })
  return [...new Map(releases.map((one) => [`${one.namespace}/${one.name}`, one])).values()]
}

const packageLabel = 'operators.coreos.com/'

/** OLM copies a ClusterServiceVersion for all namespaces into each of them. */
function isOriginal({ metadata }: UntypedObject): boolean {
  return metadata.labels?.['olm.copiedFrom'] === undefined
}

/**
 * A Subscription names its package. Both kinds have a label `operators.coreos.com/PACKAGE.NAMESPACE` once OLM has seen them; a
 * ClusterServiceVersion is called `PACKAGE.vVERSION`, as a rule.
 */
function packageOf(object: UntypedObject): { name: string; namespace: string; package: string } {
  const { name = '', namespace = '', labels = {} } = object.metadata
  const { name: subscribed } = (object['spec'] ?? {}) as { readonly name?: string }
  const suffix = `.${namespace}`
  const label = Object.keys(labels).find((key) => key.startsWith(packageLabel) && key.endsWith(suffix))
  const named = label?.slice(packageLabel.length, -suffix.length)
  return { name, namespace, package: subscribed ?? named ?? name.split('.')[0]! }
}

/** CRDs that are not those of this holder, and their owners. */
function foreignCrds(
  objects: readonly UntypedObject[],
  holder: string,
  isUnmanaged: boolean,
): ReadonlyMap<string, string> {
  const foreign = objects.flatMap(({ metadata }): readonly (readonly [string, string])[] => {
    const { name = '', labels = {} } = metadata
    if (labels[holderLabel] === holder) return []
    if (!isReleasedBy(metadata, holder)) return [[name, ownerOf(metadata)]]
    return isUnmanaged ? [[name, letGo]] : []
  })
  return new Map(foreign)
}

/** By the best evidence that there is. */
function ownerOf(metadata: UntypedObject['metadata']): string {
  const { labels = {}, annotations = {}, managedFields = [], ownerReferences = [] } = metadata
  const installation = labels[holderLabel]
  // A namespace has no dots.
  if (installation !== undefined) return `of Installation ${installation.replace('.', '/')}`
  const release = annotations['meta.helm.sh/release-name']
  if (release !== undefined) return `of Helm release ${annotations['meta.helm.sh/release-namespace']}/${release}`
  if (Object.keys(labels).some((key) => key.startsWith(packageLabel) || key === 'olm.managed'))
    return 'of an operator of OLM'
  const [owner] = ownerReferences.toSorted((one, other) => Number(other.controller ?? 0) - Number(one.controller ?? 0))
  if (owner) return `owned by ${owner.kind} ${owner.name}`
  const managers = [...new Set(managedFields.flatMap(({ manager }) => manager ?? []))].filter(
    (one) => one !== 'kube-apiserver',
  )
  return managers.length > 0 ? `written by ${managers.join(', ')}` : 'of an unknown owner'
}
