/** By which versions a write is recognised when its watch event arrives; see `src/cache/resource-version.ts`. */
import { deleteVersion } from '../../cache/resource-version.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Mutation } from '../../operator/plan.ts'
import type { InputChange } from '../../operator/view/view.ts'

/** What a mutation wrote. */
export function writtenVersion(mutation: Mutation, object: KubeObject | undefined): string | undefined {
  if (object) return object.metadata.resourceVersion
  return mutation.verb === 'delete' || mutation.verb === 'finalizers' ? deleteVersion(mutation.uid) : undefined
}

/** A delete is known by its version to the watch, and by the deleted uid to its writer. */
export function versionsOf({ before, after, version = '' }: InputChange): readonly string[] {
  return after ? [version] : [version, deleteVersion(before?.metadata.uid)]
}
