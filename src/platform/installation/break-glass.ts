/** Objects that people have taken out of the protection, by an annotation, with a reason in an emergency: which, why, and since when. */
import { formatTime } from '../../kube/units/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ReportContext, StatusReport } from '../../operator/controller.ts'
import { objectPlace } from './holder.ts'
import type { InstallationObject, InstallationStatus } from './installation.ts'
import { breakGlassAnnotation, breakGlassReason, isLeftToPeople, managedAnnotation } from './object-annotations.ts'

type BreakGlassEntry = NonNullable<InstallationStatus['breakGlass']>[number]

/** An object with one of the annotations, and the reason in it. */
export type OpenedObject = Pick<BreakGlassEntry, 'object' | 'reason'>

/** The reason of an object that is left to people for good, which is no emergency: it is recorded, and no condition. */
const forGood = `${managedAnnotation}: "false"`

/** An annotation may have much more. */
const longestReason = 256
/** The most entries in the status. */
const mostListed = 50

export function openedObjects(objects: readonly UntypedObject[]): readonly OpenedObject[] {
  const opened = objects.flatMap((object) => {
    const reason = breakGlassReason(object.metadata) ?? (isLeftToPeople(object) ? forGood : undefined)
    const place = objectPlace({ kind: object.kind, ...object.metadata })
    return reason === undefined ? [] : [{ object: place, reason: reason.slice(0, longestReason).toWellFormed() }]
  })
  // The order of a list is no change of the status.
  return opened.toSorted((one, other) => (one.object < other.object ? -1 : 1))
}

/** Each use is an Event, once: what the status has already is known. */
export function breakGlassReport(
  { cr, now, event }: ReportContext<InstallationObject>,
  opened: readonly OpenedObject[],
): Pick<StatusReport<InstallationObject>, 'breakGlass'> & {
  readonly conditions: NonNullable<StatusReport<InstallationObject>['conditions']>
} {
  if (opened.length === 0) return { conditions: [] }
  const known = cr.status?.breakGlass ?? []
  const listed = opened.slice(0, mostListed).map(({ object, reason }): BreakGlassEntry => {
    const before = known.find((one) => one.object === object)
    if (before?.reason !== reason) {
      event({ type: 'Warning', reason: 'BreakGlass', message: `${object} was taken out of protection: ${reason}` })
    }
    return { object, reason, since: before?.since ?? formatTime(now) }
  })
  const urgent = listed.filter(({ reason }) => reason !== forGood)
  if (urgent.length === 0) return { breakGlass: listed, conditions: [] }
  const named = urgent.slice(0, 5).map(({ object, reason, since }) => `${object} since ${since}: ${reason}`)
  const more = urgent.length > named.length ? ` (and ${urgent.length - named.length} more)` : ''
  return {
    breakGlass: listed,
    conditions: [
      {
        type: 'BreakGlass',
        status: 'True',
        reason: 'LeftToPeople',
        message: `${named.join('; ')}${more}. Remove the annotation ${breakGlassAnnotation} to have it kept as declared again.`,
      },
    ],
  }
}
