/** An explanation as lines: the cause first, then the tree of objects, findings and the last reconciles. */
import { type ExplainedObject, type Explanation, heldText } from './explanation.ts'
import { runText, timeOf } from './report-table.ts'

export function explanationLines(explanation: Explanation): readonly string[] {
  const { isReady, because, object, operators, findings, recentRuns } = explanation
  const held = operators
    .map(heldText)
    // The second line says it then.
    .filter((text) => text !== undefined && (isReady || !because.startsWith(text)))
  const states = [`is ${isReady ? 'ready' : 'not ready'}`, ...(object.paused ? ['paused'] : [])]
  return [
    [`${object.object} ${states.join(' and ')}`, ...held].join('; '),
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
  { object, health, conditions, events, owned, readyOwned, omittedOwned = 0 }: ExplainedObject,
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
    ...(omittedOwned > 0
      ? [`${indent}  ${omittedOwned} more owned ${omittedOwned === 1 ? 'object was' : 'objects were'} not examined`]
      : []),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
}
