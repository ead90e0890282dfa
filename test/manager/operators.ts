/** Operators for replicas in separate processes: one kind each, and a ConfigMap for each CR. */
import {
  ConfigMap,
  defineController,
  defineKind,
  defineOperator,
  defineDependent,
  integer,
  type Kind,
  type Operator,
} from '@muster-dev/muster/operator'

export type SizedOperator = Operator & { readonly own: Kind }

/** `suffix` separates the kinds of concurrent test runs. */
export function part(index: number, suffix: string, check?: (size: number) => void): SizedOperator {
  const own = defineKind({
    group: `parts-${suffix}.example.com`,
    version: 'v1',
    kind: `Part${index}`,
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${cr.metadata.name}-${index}`,
    fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }),
  })
  const controller = defineController({
    for: own,
    dependents: [config],
    check: ({ cr }) => check?.(cr.spec.size),
  })
  return { ...defineOperator({ name: `part-${index}`, controllers: [controller] }), own }
}

/** Its reconcile never ends. */
export function spinning(index: number, suffix: string): SizedOperator {
  return part(index, suffix, () => {
    for (;;);
  })
}

/** Its reconcile never ends for a CR of that size; with `mended` it does. */
export function looping(index: number, suffix: string, mended = false): SizedOperator {
  return part(index, suffix, (size) => {
    if (size === 13 && !mended) for (;;);
  })
}
