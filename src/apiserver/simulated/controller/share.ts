/** Resolves `25%` or `3` to a count. */
import type { IntOrString } from '../../../kube/types/meta/v1.ts'

export function shareOf(value: IntOrString | undefined, total: number, round: 'up' | 'down'): number {
  if (value === undefined) return 0
  const match = typeof value === 'string' ? /^(\d+)%$/.exec(value) : undefined
  if (!match) return Number(value) || 0
  const exact = (Number(match[1]) * total) / 100
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact)
}
