/**
 * Finalizers of custom objects need no domain, but without one two controllers may use the same name for different
 * things.
 */
import type { UntypedObject } from '../../kube/object.ts'
import { quoteGo } from '../../kube/go/go-text.ts'
import { qualifiedNameProblems } from '../../kube/validation/name-validation.ts'

const standard = new Set(['orphan', 'foregroundDeletion', 'kubernetes'])

/** Warnings about the finalizers that a write adds to an object. */
export function finalizerWarnings({ metadata }: UntypedObject, live: UntypedObject | undefined): readonly string[] {
  const before = new Set(live?.metadata.finalizers)
  const added = [...new Set(metadata.finalizers)].filter((finalizer) => !before.has(finalizer))
  return added.toSorted().flatMap((finalizer) => {
    const said = (words: string): string => `metadata.finalizers: ${quoteGo(finalizer)}: ${words}`
    const problems = qualifiedNameProblems(finalizer)
    if (finalizer.includes('/') || standard.has(finalizer)) return problems.map(said)
    const including = finalizer.includes('.') ? ' including a path (/)' : ''
    const advice = `prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`
    return problems.concat(advice).map(said)
  })
}
