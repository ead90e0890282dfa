/** The containers of a pod: regular, init and ephemeral. */
import type { Container, PodSpec } from '../../../kube/types/core/v1.ts'

/** Validation also runs on a pod without containers, to report that. */
export function containersOf({
  containers,
}: {
  readonly containers?: PodSpec['containers'] | null
}): readonly Container[] {
  return containers ?? []
}

/** All containers with their paths, in the order of the real server. */
export function* allContainers(spec: PodSpec, field: string): Iterable<readonly [string, Container]> {
  for (const [index, container] of (spec.initContainers ?? []).entries())
    yield [`${field}.initContainers[${index}]`, container]
  for (const [index, container] of containersOf(spec).entries()) yield [`${field}.containers[${index}]`, container]
  for (const [index, container] of (spec.ephemeralContainers ?? []).entries()) {
    yield [`${field}.ephemeralContainers[${index}]`, container]
  }
}
