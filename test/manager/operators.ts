/** Operators for replicas in processes of their own: a kind each, and a ConfigMap for each CR. */
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

export type Part = Operator & { readonly own: Kind }

/** `suffix` keeps the kinds of one run apart from those of another. */
export function part(index: number, suffix: string, check?: (size: number) => void): Part {
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
    resources: [config],
    check: ({ cr }) => check?.(cr.spec.size),
  })
  return { ...defineOperator({ name: `part-${index}`, controllers: [controller] }), own }
}

/** Its code never ends. */
export function spinning(index: number, suffix: string): Part {
  return part(index, suffix, () => {
    for (;;);
  })
}

/** Its code never ends for a CR of that size; `mended`, it does. */
export function looping(index: number, suffix: string, mended = false): Part {
  return part(index, suffix, (size) => {
    if (size === 13 && !mended) for (;;);
  })
}
