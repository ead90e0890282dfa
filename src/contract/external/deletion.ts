/**
 * The options of a recorded Delete: merged from its body and its options file, which holds the URL's parameters.
 *
 * Upstream records both. An API server reads the URL only without a body; but a Delete without a body is recorded with
 * an empty one, so the options file counts, too. For propagation and grace period the body wins, as on a server. A dry
 * run or a precondition counts in either place: a deletion that is held back can be repeated, a deleted object cannot
 * be restored. Invalid options are rejected, not ignored: that would be a deletion that was not requested.
 */
import type { DeleteOptions } from '../../client/client.ts'
import { contractErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import type { ReadMutation } from '../directory/output-reader.ts'

type Deletion = Pick<DeleteOptions, 'dryRun' | 'gracePeriodSeconds' | 'propagation' | 'preconditions'>

/** @throws OutputRefused */
export function deletionOf(read: Pick<ReadMutation, 'mutation' | 'content' | 'file'>): Deletion {
  const { mutation, content, file } = read
  const inUrl = deletionIn(mutation.options, file)
  const inBody = deletionIn(isJsonObject(content) ? content : {}, file)
  const preconditions = { ...inUrl.preconditions, ...inBody.preconditions }
  for (const member of ['uid', 'resourceVersion'] as const) {
    const asked = inUrl.preconditions?.[member]
    if (asked === undefined || asked === preconditions[member]) continue
    throw refused(`${file}: no object can meet the preconditions of both its options and its body (${member})`)
  }
  return {
    ...inUrl,
    ...inBody,
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    dryRun: isDryRunMutation(read),
  }
}

/** Whether the mutation is a dry run. */
export function isDryRunMutation({ mutation, content }: Pick<ReadMutation, 'mutation' | 'content'>): boolean {
  const body = mutation.verb === 'Delete' && isJsonObject(content) ? content : {}
  return [mutation.options, body].some(({ dryRun }) =>
    Array.isArray(dryRun) ? dryRun.length > 0 : dryRun !== undefined && dryRun !== null,
  )
}

function deletionIn(said: JsonObject, file: string): Omit<Deletion, 'dryRun'> {
  const propagation = reading(said, file, isPropagation)('propagationPolicy')
  const orphans = reading(said, file, isTruth)('orphanDependents')
  if (propagation !== undefined && orphans !== undefined) {
    throw refused(`${file}: both propagationPolicy and orphanDependents say what becomes of dependents`)
  }
  const way = propagation ?? (orphans === undefined ? undefined : orphans ? 'Orphan' : 'Background')
  const gracePeriodSeconds = reading(said, file, isWhole)('gracePeriodSeconds')
  const conditions = reading(said, file, isJsonObject)('preconditions') ?? {}
  const condition = reading(conditions, file, isText)
  const [uid, resourceVersion] = [condition('uid'), condition('resourceVersion')]
  const preconditions = { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) }
  return {
    ...(way !== undefined && { propagation: way }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
  }
}

/** Reads optional members of one type. */
function reading<T extends Json>(
  said: JsonObject,
  file: string,
  isIt: (value: Json | undefined) => value is T,
): (member: string) => T | undefined {
  return (member) => {
    const value = said[member] ?? undefined
    if (value === undefined || isIt(value)) return value
    throw refused(`${file}: a Delete cannot have ${stringifyJson(value)} as its ${member}`)
  }
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function isTruth(value: Json | undefined): value is boolean {
  return typeof value === 'boolean'
}

function isWhole(value: Json | undefined): value is number {
  return Number.isInteger(value)
}

function isPropagation(value: Json | undefined): value is NonNullable<Deletion['propagation']> {
  return value === 'Foreground' || value === 'Background' || value === 'Orphan'
}

function refused(problem: string): MusterError {
  return new MusterError(contractErrors.OutputRefused, `${problem}.`)
}
