/**
 * ControllerRevisions of a StatefulSet or DaemonSet: each version of its template is an object. They make rollbacks
 * possible, and pods carry the name of theirs in a label.
 */
import { canonicalJson } from '../../../kube/apply/canonical.ts'
import { equalJson, type JsonObject, parseJson } from '../../../kube/json.ts'
import { ownerReference } from '../../../kube/meta/owner.ts'
import type { PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { StoredIn } from '../controller/cluster.ts'
import type { Tools } from '../controller/controller.ts'
import { templateHash } from './template-hash.ts'

export const revisionLabel = 'controller-revision-hash'

type Owner = StoredIn<'statefulsets.apps'> | StoredIn<'daemonsets.apps'>
export type TemplateRevision = StoredIn<'controllerrevisions.apps'>

/** All revisions, oldest first; the last is that of the current template, created if it is new. */
export async function syncRevisions({ cluster, writer }: Tools, owner: Owner): Promise<readonly TemplateRevision[]> {
  const known = cluster
    .controlled('controllerrevisions.apps', owner)
    .toSorted((a, b) => (a.revision ?? 0) - (b.revision ?? 0))
  const data = patchOf(owner)
  const same = known.find((one) => equalJson(one.data, data))
  const newest = known.at(-1)
  if (same && same === newest) return known
  const revision = (newest?.revision ?? 0) + 1
  if (same) {
    // A rollback to an earlier template: its revision becomes the newest again.
    const renewed = await writer.update('controllerrevisions.apps', { ...same, revision })
    return [...known.filter((one) => one !== same), renewed]
  }
  const hash = templateHash(owner.spec.template, owner.status?.collisionCount ?? 0)
  const { name, namespace = '' } = owner.metadata
  const made = await writer.create('controllerrevisions.apps', {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...owner.spec.template.metadata?.labels, [revisionLabel]: hash },
      ownerReferences: [ownerReference(owner, { controller: true })],
    },
    data,
    revision,
  })
  return [...known, made]
}

/** Members are sorted by name: Go clients compare the patch byte by byte with the one they compute. */
function patchOf({ spec }: Owner): JsonObject {
  const { template } = spec as { readonly template: object }
  return parseJson(canonicalJson({ spec: { template: { ...template, $patch: 'replace' } } })) as JsonObject
}

export function templateOf({ data }: TemplateRevision): PodTemplateSpec {
  const { spec } = data as unknown as { readonly spec: { readonly template: PodTemplateSpec & { $patch?: string } } }
  const { $patch: _patch, ...template } = spec.template
  return template
}

/** Deletes revisions beyond the history limit, except those still `used`. */
export async function forgetRevisions(
  { writer }: Tools,
  owner: Owner,
  revisions: readonly TemplateRevision[],
  used: ReadonlySet<string>,
): Promise<void> {
  const idle = revisions.filter((one) => !used.has(revisionName(one)))
  const limit = owner.spec?.revisionHistoryLimit ?? 10
  for (const one of idle.slice(0, Math.max(0, idle.length - limit)))
    await writer.remove('controllerrevisions.apps', one)
}

/** The revision in the label of pods. StatefulSets use the whole name, DaemonSets the hash alone. */
export function revisionName({ metadata }: TemplateRevision): string {
  return metadata.name
}

export function revisionHash({ metadata }: TemplateRevision): string {
  return metadata.labels?.[revisionLabel] ?? ''
}
