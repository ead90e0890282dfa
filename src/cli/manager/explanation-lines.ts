/** An explanation as lines: the cause first, then the tree of objects, findings and the last reconciles. */
import type { ExplainedObject, Explanation } from './explanation.ts'
import { runText, timeOf } from './report-table.ts'

export function explanationLines({ isReady, because, object, findings, recentRuns }: Explanation): readonly string[] {
  return [
    `${object.object} is ${isReady ? 'ready' : 'not ready'}`,
    ...(isReady ? [] : [`because  ${because}`]),
    '',
    ...objectLines(object, ''),
    ...section(
      'findings',
      findings.map(({ at, kind, message }) => `${timeOf(at)} ${kind}: ${message}`),
    ),
    ...section(
      'last reconciles',
      recentRuns.map((run) => `${timeOf(run.at)} ${run.controller}: ${runText(run)}`),
    ),
  ]
}

function objectLines(
  { object, health, conditions, events, owned, readyOwned }: ExplainedObject,
  indent: string,
): readonly string[] {
  const { status, reason, message } = health
  return [
    `${indent}${object}  ${status}${status === 'Current' ? '' : `  ${reason}: ${message}`}`,
    ...conditions
      .filter((condition) => condition.message !== '' || condition.status !== 'True')
      .map(
        (condition) => `${indent}  ${condition.type}=${condition.status}  ${condition.reason}: ${condition.message}`,
      ),
    ...events.map(
      ({ type, reason: why, message: text, count }) =>
        `${indent}  ${type} Event  ${why}: ${text}${count > 1 ? ` (${count} times)` : ''}`,
    ),
    ...owned.flatMap((child) => objectLines(child, `${indent}  `)),
    ...(readyOwned > 0
      ? [`${indent}  ${readyOwned} owned ${readyOwned === 1 ? 'object is' : 'objects are'} ready`]
      : []),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
}
