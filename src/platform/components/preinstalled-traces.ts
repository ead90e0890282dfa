/** What the cluster shows of installations by other means. Read as metadata, and only for components that may meet one. */
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { Secret } from '../../kube/kinds.ts'
import type { EmbeddingContext } from '../../operator/embedded/embedded-set.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import { type Input, labelled } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import type { View } from '../../operator/view/view.ts'
import { type PreinstalledOperator, preinstalledOperators } from '../catalogue/preinstalled.ts'
import { holderLabel, releasedAnnotation } from '../installation/holder.ts'
import { versionOf } from './component-catalogue.ts'
import type { PlatformObject } from './platform.ts'
import { type PlatformSituation, targetVersion, wantedComponents } from './platform-situation.ts'

const crds = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' }
const subscriptions = { group: 'operators.coreos.com', version: 'v1alpha1', kind: 'Subscription' }
const serviceVersions = { group: 'operators.coreos.com', version: 'v1alpha1', kind: 'ClusterServiceVersion' }

/** The Secrets in which Helm keeps releases, without their content, which is large. */
export const helmSecrets: Input = fields(labelled(Secret, { labels: { owner: 'helm' } }), [])

/** By component; those that the Platform has installed have none. */
export async function preinstalledOn(
  { held, view }: Pick<EmbeddingContext<PlatformObject>, 'held' | 'view'>,
  situation: Omit<PlatformSituation, 'serves' | 'preinstalled'>,
): Promise<ReadonlyMap<string, readonly PreinstalledOperator[]>> {
  const { catalogue, installations } = situation
  const asked = wantedComponents(situation).flatMap((component) => {
    const { name, managementState } = component
    if (managementState === 'Removed' || installations.has(name)) return []
    const signs = catalogue.components.get(name)?.spec.preinstalled
    const own = versionOf(catalogue, name, targetVersion(component, situation))?.spec.crds ?? []
    return signs ? [{ name, signs, own }] : []
  })
  const found = new Map<string, readonly PreinstalledOperator[]>()
  if (asked.length === 0) return found
  const traces = {
    subscriptions: (await all(held, subscriptions)).map(packageOf),
    serviceVersions: (await all(held, serviceVersions)).map(({ metadata }) => placeOf(metadata)),
    helmReleases: helmReleases(view),
    crds: foreignCrds(await all(held, crds, true)),
  }
  for (const { name, signs, own } of asked) found.set(name, preinstalledOperators(signs, own, traces))
  return found
}

async function all(
  held: HeldObjects,
  kind: GroupVersionKind,
  managedFields = false,
): Promise<readonly UntypedObject[]> {
  const resource = await held.resourceOf(kind)
  return resource ? await held.all(resource, { managedFields }) : []
}

/** Each revision of a release is a Secret. */
function helmReleases(view: View): readonly { name: string; namespace: string }[] {
  const releases = view.list(Secret, { labels: 'owner=helm' }).flatMap(({ metadata: { labels, namespace = '' } }) => {
    const name = labels?.['name']
    return name === undefined || labels?.['status'] === 'uninstalled' ? [] : [{ name, namespace }]
  })
  return [...new Map(releases.map((one) => [`${one.namespace}/${one.name}`, one])).values()]
}

function placeOf({ name = '', namespace = '' }: UntypedObject['metadata']): { name: string; namespace: string } {
  return { name, namespace }
}

const packageLabel = 'operators.coreos.com/'

/** The Operator Lifecycle Manager labels a Subscription with `operators.coreos.com/PACKAGE.NAMESPACE`. */
function packageOf({ metadata }: UntypedObject): { name: string; namespace: string; package: string } {
  const place = placeOf(metadata)
  const label = Object.keys(metadata.labels ?? {}).find((key) => key.startsWith(packageLabel))
  const suffix = `.${place.namespace}`
  const named = label?.slice(packageLabel.length)
  return { ...place, package: named?.endsWith(suffix) ? named.slice(0, -suffix.length) : place.name }
}

function foreignCrds(objects: readonly UntypedObject[]): ReadonlyMap<string, string> {
  const foreign = objects.filter(
    ({ metadata: { labels = {}, annotations = {} } }) =>
      labels[holderLabel] === undefined && annotations[releasedAnnotation] === undefined,
  )
  return new Map(foreign.map(({ metadata }) => [metadata.name ?? '', ownerOf(metadata)]))
}

function ownerOf({ labels = {}, annotations = {}, managedFields = [] }: UntypedObject['metadata']): string {
  const release = annotations['meta.helm.sh/release-name']
  if (release !== undefined) return `of Helm release ${annotations['meta.helm.sh/release-namespace']}/${release}`
  if (Object.keys(labels).some((key) => key.startsWith(packageLabel))) return 'of an operator of OLM'
  const managers = [...new Set(managedFields.flatMap(({ manager }) => manager ?? []))].filter(
    (one) => one !== 'kube-apiserver',
  )
  return managers.length > 0 ? `written by ${managers.join(', ')}` : 'of an unknown owner'
}
