/**
 * The objects of a kind of which a controller reads some with more fields than others: all Pods with two fields, its own whole.
 *
 * Each selection has its own subscription, which keeps the fields of that selection, and one may be ahead of another. An object
 * that has just got the label of its own Pods, say, is at first known with two fields only. So an object is shown at the latest
 * version of which all declared fields are known; until then it is shown as it was before, or not at all if it is new. The
 * subscription with all of its fields will deliver that version, or a later one.
 */
import { resourceVersionOf } from '../../cache/key.ts'
import { isLater } from '../../cache/resource-version.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Coverage } from '../../operator/view/coverage.ts'
import { fieldsServe, type ProjectedFields, type Projection } from '../../operator/view/projection.ts'
import type { References } from '../../operator/view/references.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'

/** An object as one subscription has it. */
export interface ObjectCopy {
  readonly object: KubeObject
  /** The fields that the subscription keeps. */
  readonly fields: ProjectedFields
}

interface MixedObjectsOptions {
  readonly resource: Resource
  readonly coverage: Coverage
  readonly references: () => References
  readonly copies: (name: ObjectName) => readonly ObjectCopy[]
}

export interface MixedObjects {
  get(name: ObjectName): KubeObject | undefined
  /** A subscription or a reference has changed. Returns the change of what is shown, if there is one. */
  update(name: ObjectName): Pick<InputChange, 'before' | 'after'> | undefined
  clear(): void
}

/** An object as it is shown. */
interface ShownObject {
  readonly object: KubeObject
  readonly projection: Projection
}

export function createMixedObjects({ resource, coverage, references, copies }: MixedObjectsOptions): MixedObjects {
  const shown = new Map<string, ShownObject>()

  /** The latest state of which all fields are known. */
  const latestComplete = (all: readonly ObjectCopy[]): ShownObject | undefined => {
    const latestFirst = all.toSorted((a, b) => (isOlder(a.object, b.object) ? 1 : isOlder(b.object, a.object) ? -1 : 0))
    for (const { object } of latestFirst) {
      const projection = coverage.projectionOf(resource, object, references())
      const complete = latestFirst.find(
        (copy) => isSameVersion(copy.object, object) && fieldsServe(copy.fields, projection.fields),
      )
      if (complete) return { object: projection.project(complete.object), projection }
    }
    return undefined
  }

  return {
    get: (name) => shown.get(keyOf(name))?.object,
    update(name) {
      const key = keyOf(name)
      const before = shown.get(key)
      const all = copies(name)
      if (all.length === 0) {
        shown.delete(key)
        return before && { before: before.object, after: undefined }
      }
      const after = latestComplete(all)
      // A subscription that is behind another one must not take the object back in time.
      if (!after || (before && isOlder(after.object, before.object))) return undefined
      shown.set(key, after)
      return before && isSame(before, after) ? undefined : { before: before?.object, after: after.object }
    },
    clear: () => shown.clear(),
  }
}

function isSame(before: ShownObject, after: ShownObject): boolean {
  if (before.projection !== after.projection) return false
  return isSameVersion(before.object, after.object) || after.projection.isSame(before.object, after.object)
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  return isLater(resourceVersionOf(b), resourceVersionOf(a))
}

function isSameVersion(a: KubeObject, b: KubeObject): boolean {
  return a === b || (a.metadata.uid === b.metadata.uid && resourceVersionOf(a) === resourceVersionOf(b))
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`
}
