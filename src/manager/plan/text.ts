/** Formats a plan for people: one unified diff per object, grouped by CR. */
import { writeYaml } from '../../kube/yaml/yaml.ts'
import type { OperatorPlan, PlannedChange, PlannedCr } from './dry-run.ts'
import { type DiffLine, unified } from './unified.ts'

/** `note`: a comment about the plan itself, which diff tools skip. */
export interface PlanLine {
  readonly kind: DiffLine['kind'] | 'note'
  readonly text: string
}

export function planLines({ operator, changes, crs }: OperatorPlan): readonly PlanLine[] {
  const lines = crs.flatMap((cr) => {
    const own = changes.filter((change) => change.cr === cr.cr && change.controller === cr.controller)
    return own.length === 0 && cr.outcome === 'settled' ? [] : [note(titleOf(cr)), ...own.flatMap(changeLines)]
  })
  return [...lines, note(`${operator}: ${summaryOf(changes, crs)}`)]
}

function titleOf({ kind, cr, controller, outcome, message }: PlannedCr): string {
  const state = { settled: '', waiting: 'waits', failed: 'fails', paused: 'is paused', unsettled: 'does not settle' }[
    outcome
  ]
  const why = message === undefined ? '' : `: ${message.replaceAll('\n', ' ')}`
  return `${kind} ${cr} (${controller})${state === '' ? '' : `, ${state}${why}`}`
}

function changeLines({ object, before, after, action }: PlannedChange): readonly PlanLine[] {
  const { apiVersion, kind, namespace, name } = object
  const place = [apiVersion, kind, ...(namespace === undefined ? [] : [namespace]), name].join('/')
  const isGone = action === 'delete' && after === undefined
  return unified(before && writeYaml(before), isGone ? undefined : after && writeYaml(after), place)
}

function summaryOf(changes: readonly PlannedChange[], crs: readonly PlannedCr[]): string {
  const count = (action: PlannedChange['action']): number => changes.filter((change) => change.action === action).length
  const failed = crs.filter(({ outcome }) => outcome === 'failed' || outcome === 'unsettled').length
  const failures = failed === 0 ? '' : `; ${failed} of ${crs.length} CRs would fail`
  if (changes.length === 0) return `nothing to do for ${crs.length} CR${crs.length === 1 ? '' : 's'}${failures}.`
  return `${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete${failures}.`
}

function note(text: string): PlanLine {
  return { kind: 'note', text: `# ${text}` }
}
