/** Revisions of an Installation in the cluster: found, and as objects to be stored. */
import { Secret } from '../../kube/kinds.ts'
import { formatApiVersion, type GroupVersionKind, kindOf } from '../../kube/kind.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject, ObjectMeta, UntypedObject } from '../../kube/object.ts'
import type { View } from '../../operator/view/view.ts'
import { phasesOf } from '../phase/phases.ts'
import { hookOf } from '../phase/hook.ts'
import type { KnownRevision } from './attempt.ts'
import type { InstallationObject, InstallationStatus } from './installation.ts'
import {
  chunkName,
  chunksOf,
  contentDigest,
  contentOf,
  Revision,
  type RevisionContent,
  type RevisionObject,
} from './revision.ts'

/** The oldest first. */
export function revisionsOf(cr: InstallationObject, view: View): readonly RevisionObject[] {
  return view.ownedBy(Revision, cr).toSorted((a, b) => a.spec.number - b.spec.number)
}

export function knownRevision({ spec }: RevisionObject): KnownRevision {
  return { number: spec.number, digest: spec.digest, version: spec.version }
}

/** @throws MissingContent, InvalidContent */
export function storedContent(revision: RevisionObject, view: View): RevisionContent {
  return contentOf(revision, chunksIn(revision, view))
}

function chunksIn({ metadata, spec }: RevisionObject, view: View): readonly (Secret | undefined)[] {
  const { name, namespace } = metadata
  return Array.from({ length: spec.chunks }, (_, index) =>
    view.get(Secret, { name: chunkName(name, index), namespace }),
  )
}

/**
 * The Secrets of a stored revision that are missing, made again from the same content. None if the others would not fit to them:
 * they were packed in another way.
 */
export function missingChunks(
  revision: RevisionObject,
  content: RevisionContent,
  view: View,
): readonly UntypedObject[] {
  const { metadata, spec } = revision
  const stored = chunksIn(revision, view)
  if (!stored.includes(undefined)) return []
  const chunks = chunksOf(content)
  const fits = stored.every((secret, at) => secret === undefined || secret.data?.['content'] === chunks[at])
  if (chunks.length !== spec.chunks || !fits) return []
  return chunkSecrets(metadata.name, metadata.namespace, chunks).filter((_, at) => stored[at] === undefined)
}

/** The numbers of the revisions of which anything is stored. Caches lag: a Secret may be seen before its Revision. */
export function storedNumbers(cr: InstallationObject, view: View): readonly number[] {
  return [...new Set(storedParts(cr, view).map(({ number }) => number))]
}

/** Numbers whose Secrets hold other content, without a Revision: the process ended in between, or the cache is behind. */
export function takenNumbers(cr: InstallationObject, wanted: RevisionContent, view: View): readonly number[] {
  const known = new Set(revisionsOf(cr, view).map(({ spec }) => spec.number))
  const loose = storedParts(cr, view).filter(({ number }) => !known.has(number))
  if (loose.length === 0) return []
  const chunks = new Set(chunksOf(wanted))
  return loose.flatMap(({ number, object }) => (chunks.has((object as Secret).data?.['content'] ?? '') ? [] : [number]))
}

/** Stored revisions as they are: they never change. */
export function storedObjects(
  cr: InstallationObject,
  view: View,
  staysInstalled: (number: number) => boolean = () => true,
): readonly UntypedObject[] {
  return storedParts(cr, view)
    .filter(({ number }) => staysInstalled(number))
    .map(({ object }) => {
      const { status: _, ...content } = asJson(object)
      return asObject({
        ...content,
        metadata: asJson(metadataAt(object.metadata.name ?? '', object.metadata.namespace)),
      })
    })
}

function storedParts(
  cr: InstallationObject,
  view: View,
): readonly { readonly number: number; readonly object: KubeObject }[] {
  const prefix = `${cr.metadata.name}-`
  const chunks = view.ownedBy(Secret, cr).flatMap((object) => {
    const { name } = object.metadata
    const number = object.type === chunkType ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN
    return Number.isNaN(number) ? [] : [{ number, object }]
  })
  return [...revisionsOf(cr, view).map((object) => ({ number: object.spec.number, object })), ...chunks]
}

export function metadataAt(name: string, namespace: string | undefined): ObjectMeta {
  return { name, ...(namespace !== undefined && { namespace }) }
}

const chunkType = 'platform.muster.dev/revision'

/** The objects of a new revision. */
export function newRevision(
  { metadata }: InstallationObject,
  number: number,
  content: RevisionContent,
  isUpgrade: boolean,
): readonly UntypedObject[] {
  const { namespace } = metadata
  const name = `${metadata.name}-${number}`
  const chunks = chunksOf(content)
  const revision: UntypedObject = {
    apiVersion: formatApiVersion(Revision),
    kind: Revision.kind,
    metadata: metadataAt(name, namespace),
    spec: {
      installation: metadata.name,
      number,
      ...(content.name !== undefined && { name: content.name }),
      ...(content.version !== undefined && { version: content.version }),
      digest: contentDigest(content),
      ...(isUpgrade && { isUpgrade }),
      chunks: chunks.length,
      phases: listedPhases(content),
    },
  }
  return [...chunkSecrets(name, namespace, chunks), revision]
}

function chunkSecrets(
  revision: string,
  namespace: string | undefined,
  chunks: readonly string[],
): readonly UntypedObject[] {
  return chunks.map((chunk, index) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataAt(chunkName(revision, index), namespace),
    type: chunkType,
    immutable: true,
    data: { content: chunk },
  }))
}

/** The phase under which hooks are listed. */
export const hooksPhase = 'hooks'

/** For people: `kubectl get revision -o yaml` shows what is in it, without the content. */
function listedPhases({ items }: RevisionContent): RevisionObject['spec']['phases'] {
  const objects = items.map(({ object }) => object)
  const hooks = objects.filter((object) => hookOf(object) !== undefined)
  const phases = [
    ...phasesOf(objects.filter((object) => hookOf(object) === undefined)),
    ...(hooks.length > 0 ? [{ name: hooksPhase, objects: hooks }] : []),
  ]
  return phases.map(({ name, objects: own }) => ({
    name,
    objects: own.map(({ apiVersion, kind, metadata }) => ({
      apiVersion,
      kind,
      name: metadata.name ?? '',
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    })),
  }))
}

/** Whether a revision has an object of this name. @param fallback the namespace of objects that name none */
export function hasObject(
  { spec }: RevisionObject,
  { apiVersion, kind, metadata }: UntypedObject,
  fallback: string | undefined,
): boolean {
  const { group } = kindOf({ apiVersion, kind })
  const { name, namespace = fallback } = metadata
  return spec.phases.some(({ objects }) =>
    objects.some(
      (one) =>
        one.kind === kind &&
        kindOf(one).group === group &&
        one.name === name &&
        (one.namespace ?? fallback) === namespace,
    ),
  )
}

/** All kinds that the Installation may have objects of. */
export function kindsIn(
  status: InstallationStatus | undefined,
  revisions: readonly RevisionObject[],
  content?: RevisionContent,
): readonly GroupVersionKind[] {
  const all = [
    ...(status?.kinds ?? []),
    ...revisions.flatMap(({ spec }) => spec.phases.flatMap(({ objects }) => objects.map(kindOf))),
    ...(content?.items ?? []).map(({ object }) => kindOf(object)),
  ]
  return [...new Map(all.map((kind) => [`${kind.group}/${kind.kind}`, kind])).values()]
}
