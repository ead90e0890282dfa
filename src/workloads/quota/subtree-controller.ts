/**
 * Tells the authors of QuotaSubtrees what is wrong with them: nodes that hang on nothing, cycles, nodes that another object has defined.
 * That depends on all objects of a tree, so a coordinator looks at them together; each object says its own part.
 */
import type { Controller } from '../../operator/controller.ts'
import { defineCoordinator, isChangeOf } from '../../operator/coordinator/coordinator.ts'
import { defineController } from '../../operator/controller.ts'
import { giveUp } from '../../operator/failure.ts'
import { objectTitle } from './object-fields.ts'
import { noQuotaObjects, readQuota } from './quota-model.ts'
import type { QuotaProblem } from './quota-problem.ts'
import { QuotaSubtree, type QuotaSubtreeObject } from './quota-subtree.ts'

/** What is wrong with one object. */
interface SubtreeReport {
  readonly reason: string
  readonly message: string
}

interface Reports {
  readonly subtrees: Map<string, QuotaSubtreeObject>
  /** As decided before, by uid. */
  told: ReadonlyMap<string, SubtreeReport>
}

const subtreeReports = defineCoordinator<Reports, SubtreeReport>({
  name: 'quota-subtrees',
  reads: [QuotaSubtree],
  start: () => ({ subtrees: new Map(), told: new Map() }),
  take({ subtrees }, change) {
    if (!isChangeOf(change, QuotaSubtree)) return
    const { object, before } = change
    const key = before?.metadata.uid ?? ''
    if (!object || key !== object.metadata.uid) subtrees.delete(key)
    if (object) subtrees.set(object.metadata.uid ?? '', object)
  },
  decide(state) {
    const reports = reportsOf([...state.subtrees.values()])
    const uids = new Set([...state.told.keys(), ...reports.keys()])
    const decisions = [...uids].flatMap((uid): readonly (readonly [string, SubtreeReport | undefined])[] => {
      const [before, now] = [state.told.get(uid), reports.get(uid)]
      return before?.message === now?.message && before?.reason === now?.reason ? [] : [[uid, now]]
    })
    state.told = reports
    return { decisions }
  },
})

function reportsOf(subtrees: readonly QuotaSubtreeObject[]): ReadonlyMap<string, SubtreeReport> {
  const { problems } = readQuota({ ...noQuotaObjects, subtrees }, { quotaEnabled: true })
  const byObject = Map.groupBy(problems.filter(isSerious), ({ object }) => object)
  return new Map(
    subtrees.flatMap((subtree): readonly (readonly [string, SubtreeReport])[] => {
      const own = byObject.get(objectTitle(subtree))
      return own ? [[subtree.metadata.uid ?? '', reportOf(own)]] : []
    }),
  )
}

/** A field without effect is none for which a tree fails. */
function isSerious({ reason }: QuotaProblem): boolean {
  return reason !== 'IgnoredField'
}

const most = 10

function reportOf(problems: readonly QuotaProblem[]): SubtreeReport {
  const lines = problems.slice(0, most).map(({ field, message }) => `${field}: ${message}`)
  const rest = problems.length > most ? [`and ${problems.length - most} more`] : []
  return { reason: problems[0]!.reason, message: `${[...lines, ...rest].join('; ')}.` }
}

export const subtreeController: Controller<QuotaSubtreeObject> = defineController({
  for: QuotaSubtree,
  coordinators: [subtreeReports],
  check({ cr, decision }) {
    const report = decision(subtreeReports, cr.metadata.uid ?? '')
    if (report) giveUp(report.reason, report.message)
  },
})
