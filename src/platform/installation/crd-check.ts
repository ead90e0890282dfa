/** Before an upgrade: a CRD that drops or narrows what is stored is not applied. The stored objects that would break are named. */
import { isMusterError } from '../../kube/muster-error.ts'
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../kube/types/apiextensions/v1.ts'
import { clientErrors } from '../../client/errors.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import { fail, failureOf, isAuthFailure } from '../../operator/failure.ts'
import type { ObjectName, View } from '../../operator/view/view.ts'
import { breakingObjects } from '../crd/breaking-objects.ts'
import { describeUnsafeChange } from '../crd/unsafe-change.ts'
import { unsafeChanges } from '../crd/unsafe-changes.ts'
import { objectPlace } from './holder.ts'
import { policyOf } from './installed-objects.ts'
import type { InstallationSpec } from './installation.ts'
import type { RevisionContent, RevisionObject } from './revision.ts'
import { storedContent } from './stored-revisions.ts'

const allowedAnnotation = 'platform.muster.dev/unsafe-changes'

interface CrdCheck {
  readonly spec: Pick<InstallationSpec, 'crds'>
  readonly view: View
  /** Reads stored objects; undefined without a cluster: then none are named. */
  readonly held: HeldObjects | undefined
  /** Who reads them. */
  readonly as: ObjectName | undefined
  /** An attempt with this content has begun: it passed the check. */
  readonly hasBegun: boolean
}

/**
 * Objects are read only for a CRD that is narrowed, or that may be.
 *
 * @throws UnsafeCrdChange, with each change and the objects that would break; CrdsNotComparable
 */
export async function checkCrds(
  wanted: RevisionContent,
  before: RevisionObject | undefined,
  check: CrdCheck,
): Promise<void> {
  const after = [...crdsIn(wanted, check.spec)].filter(
    ([, { metadata }]) => metadata.annotations?.[allowedAnnotation] !== 'allowed',
  )
  if (!before || after.length === 0) return
  const old = crdsIn(comparable(before, check.view), check.spec)
  for (const [name, crd] of after) {
    const previous = old.get(name)
    if (previous) await checkCrd(previous, crd, check)
  }
}

async function checkCrd(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
  check: CrdCheck,
): Promise<void> {
  const changes = unsafeChanges(before, after)
  const unsafe = changes.filter(({ verdict }) => verdict === 'unsafe')
  // What cannot be judged by the schemas is harmless if all stored objects fit.
  const isUnjudged = unsafe.length === 0 && changes.length > 0
  if (changes.length === 0 || (isUnjudged && check.hasBegun)) return
  const found = await storedObjects(before, after, check)
  if (isUnjudged && found.breaking.length === 0) return
  const shown = isUnjudged ? changes : unsafe
  fail(
    'UnsafeCrdChange',
    `CRD ${after.metadata.name}: ${someOf(shown.map(describeUnsafeChange), '; ')}.${described(found)} ` +
      `Keep what is stored readable, change these objects first, or annotate the CRD with ${allowedAnnotation}: allowed.`,
  )
}

interface StoredObjects {
  /** The objects that would break: `Thing default/a (loses spec.b)`. */
  readonly breaking: readonly string[]
  /** How many were looked at. */
  readonly count: number
  /** There are more. */
  readonly isCut: boolean
  /** Why they could not be looked at. */
  readonly problem?: string
}

const mostShown = 5
const mostPages = 20

async function storedObjects(
  before: CustomResourceDefinition,
  after: CustomResourceDefinition,
  { held, as }: CrdCheck,
): Promise<StoredObjects> {
  const none = { breaking: [], count: 0, isCut: false }
  const storage = versionOf(after, ({ storage: isStored }) => isStored)
  const listed = versionOf(before, ({ name, served }) => served && name === storage) ?? versionOf(before, isServed)
  if (!held || storage === undefined || listed === undefined) return none
  if (listed !== storage && after.spec.conversion?.strategy === 'Webhook') {
    return { ...none, problem: `They are converted to ${storage} by a webhook, so they were not compared.` }
  }
  const { group, names, scope } = before.spec
  const { kind, plural } = names
  const resource = { group, version: listed, kind, plural, namespaced: scope === 'Namespaced' }
  const breaking: string[] = []
  let count = 0
  let next: string | undefined
  for (let page = 0; page < mostPages; page++) {
    try {
      const { items, next: following } = await held.page(resource, { as, after: next })
      count += items.length
      for (const { name, namespace, refused, lost } of breakingObjects(after, storage, items)) {
        const fields = [...lost.map((field) => `loses ${field}`), ...refused.map(({ field }) => `${field} is refused`)]
        breaking.push(`${objectPlace({ kind, name, namespace })} (${someOf(fields, ', ', 3)})`)
      }
      next = following
    } catch (error) {
      if (isMusterError(error, clientErrors.KindNotServed)) return none
      const { reason, message } = failureOf(error, '', '')
      if (!isAuthFailure(reason)) throw error
      return { ...none, problem: `They could not be read: ${message}` }
    }
    if (next === undefined) break
  }
  return { breaking, count, isCut: next !== undefined }
}

const isServed = ({ served }: CustomResourceDefinitionVersion): boolean => served

function versionOf(
  { spec }: CustomResourceDefinition,
  is: (version: CustomResourceDefinitionVersion) => boolean,
): string | undefined {
  return spec.versions.find(is)?.name
}

function described({ breaking, count, isCut, problem }: StoredObjects): string {
  if (problem !== undefined) return ` Which stored objects would break is unknown. ${problem}`
  if (count === 0) return ' No objects of it are stored.'
  const all = isCut ? `the first ${count}` : `${count}`
  if (breaking.length === 0) return ` None of ${all} stored objects would break.`
  return ` ${breaking.length} of ${all} stored objects would break: ${someOf(breaking, ', ')}.`
}

function someOf(texts: readonly string[], separator: string, most = mostShown): string {
  const more = texts.length > most ? ` and ${texts.length - most} more` : ''
  return `${texts.slice(0, most).join(separator)}${more}`
}

function comparable(before: RevisionObject, view: View): RevisionContent {
  try {
    return storedContent(before, view)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return fail(
      'CrdsNotComparable',
      `Its CRDs cannot be compared with those of the last good revision. ${why} To go on without, annotate the CRDs with ${allowedAnnotation}: allowed.`,
      error,
    )
  }
}

/** Those that are applied. */
function crdsIn(
  { items }: RevisionContent,
  spec: Pick<InstallationSpec, 'crds'>,
): ReadonlyMap<string, CustomResourceDefinition> {
  const crds = items.flatMap((item) =>
    item.object.kind === 'CustomResourceDefinition' && policyOf(item, spec) === 'apply'
      ? [item.object as unknown as CustomResourceDefinition]
      : [],
  )
  return new Map(crds.map((crd) => [crd.metadata.name ?? '', crd]))
}
