/** The containers of a pod, by what they are for. */
import type { Container, PodSpec } from '../../kube/types/core/v1.ts'

/** A pod without any is not a pod, but must be read before that can be said. */
export function containersOf({
  containers,
}: {
  readonly containers?: PodSpec['containers'] | null
}): readonly Container[] {
  return containers ?? []
}

/** All of them with their paths, in the order the server visits them. */
export function* allContainers(spec: PodSpec, field: string): Iterable<readonly [string, Container]> {
  for (const [index, container] of (spec.initContainers ?? []).entries())
    yield [`${field}.initContainers[${index}]`, container]
  for (const [index, container] of containersOf(spec).entries()) yield [`${field}.containers[${index}]`, container]
  for (const [index, container] of (spec.ephemeralContainers ?? []).entries()) {
    yield [`${field}.ephemeralContainers[${index}]`, container]
  }
}
