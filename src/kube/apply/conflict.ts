/** Apply conflicts: an apply would change fields of other managers. Text and fields are those of the server's 409 response. */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { compareText } from './canonical.ts'
import { type FieldSet, pathsOf } from './field-set.ts'
import { managerId, type Ownership } from './managed-fields.ts'
import { formatPath, type Path, quoteText } from './path-element.ts'

/** One field that another manager owns. */
export interface FieldConflict {
  readonly owner: Omit<Ownership, 'fields'>
  readonly path: Path
  /** The path as text: `.spec.replicas`. */
  readonly field: string
  /** `conflict with "kubectl" using apps/v1`. */
  readonly message: string
}

export class ApplyConflict extends MusterError {
  readonly conflicts: readonly FieldConflict[]

  constructor(conflicts: readonly FieldConflict[]) {
    super(kubeErrors.ApplyConflict, describe(conflicts))
    this.conflicts = conflicts
  }
}

/** Conflicts over `fields` with their owner. */
export function conflictsOver(fields: FieldSet, owner: Ownership): readonly FieldConflict[] {
  const message = `conflict with ${describeOwner(owner)}`
  return Array.from(pathsOf(fields), (path) => ({ owner, path, field: formatPath(path), message }))
}

function describe(conflicts: readonly FieldConflict[]): string {
  const [first] = conflicts
  if (first && conflicts.length === 1) return `Apply failed with 1 conflict: ${first.message}: ${first.field}`
  const byOwner = Map.groupBy(conflicts, ({ owner }) => managerId(owner))
  const lines: string[] = []
  for (const id of [...byOwner.keys()].toSorted(compareText)) {
    const found = byOwner.get(id) as FieldConflict[]
    lines.push(`conflicts with ${describeOwner((found[0] as FieldConflict).owner)}:`)
    for (const { field } of found) lines.push(`- ${field}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function describeOwner({ manager, operation, apiVersion, subresource }: FieldConflict['owner']): string {
  const name = quoteText(manager) + (subresource === '' ? '' : ` with subresource ${quoteText(subresource)}`)
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
