/**
 * Executes plans: each mutation becomes one request, made as the operator, and its response is stored in the shared
 * cache before anything else happens. The requests of one wave are sent concurrently, up to a limit.
 *
 * Failed requests are retried by their class, and only where that is safe:
 *
 * | class     | retried here                                                         | then                                 |
 * | --------- | -------------------------------------------------------------------- | ------------------------------------ |
 * | conflict  | never: the reconcile has read an old version                         | the key is requeued                  |
 * | throttled | after the server's Retry-After, if that ends before `timeoutMs`      | the key is requeued no earlier       |
 * | transient | a few times: applies, deletes by uid, patches with a resourceVersion | the key is requeued with back-off    |
 * | terminal  | never                                                                | an input or the code has to change   |
 *
 * The client does the retries (`client/retry.ts`): a second loop around it would multiply them.
 */
import type { Client, FieldValidation, PatchOptions } from '../../client/client.ts'
import type { Writer } from '../../cache/writer.ts'
import { isReleased, isStillThere } from '../../kube/meta/deletion.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { managerErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { mayWrite } from '../../operator/view/coverage.ts'
import { kindText } from '../../operator/dependent/entry.ts'
import { describeInput, type EditVerb, inputOf, type DeclaredOutput } from '../../operator/view/input.ts'
import { type Mutation, mutationName, type MutationOutcome, type Wave } from '../../operator/plan.ts'
import { combine, type Combined, targetOf } from './combined-wave.ts'
import type { WrittenObject } from '../findings/finding.ts'
import { termOver } from '../leases/term.ts'
import { impersonationOf } from './identity.ts'
import { withoutSecrets } from './secret-errors.ts'

export interface ExecutorOptions {
  /** Sends requests as the operator's account: see `identity.ts`. */
  readonly writer: Writer
  /** Reads an object that exists although no informer holds it; as the operator's account, too. */
  readonly reader: Pick<Client, 'get'>
  /** The field manager of all writes. */
  readonly fieldManager: string
  /** Kinds that the operator may write. */
  readonly outputs: readonly (Resource | DeclaredOutput)[]
  /** Kinds that the operator's controllers reconcile: it may write their status and finalizers. */
  readonly kinds: readonly Resource[]
  /** Labels of embedded objects: the operator may write objects of any kind that carry one of them. @default none */
  readonly embedded?: readonly string[]
  /** Concurrent writes within one wave. @default 8 */
  readonly parallel?: number
  /** Time limit of one write, including retries and Retry-After. @default the client's */
  readonly timeoutMs?: number
  /** The `fieldValidation` of applies. @default the server's */
  readonly fieldValidation?: ((resource: Resource) => FieldValidation | undefined) | undefined
  /** Called with the number of requests of each wave, whatever their result: they are charged to the allowance. */
  readonly onSent?: (writes: number) => void
}

/** A mistake in a plan, with evidence, for the author of the operator. */
export interface WriteFinding {
  readonly kind: 'undeclaredWrite' | 'severalWrites'
  readonly object: WrittenObject
  /** The author's names of the objects to be written. */
  readonly subjects: readonly string[]
  /** Field paths that contradict; may be empty. */
  readonly fields: readonly string[]
  readonly message: string
}

/** One reconcile, from its first wave to its last; see `RunContext`. */
export interface WriteRun {
  /** Targets written so far; maintained by the executor. */
  readonly written: Set<string>
  /** Checked before each write: whether this replica still holds its lease. Undefined: always. */
  readonly isHeld?: (() => boolean) | undefined
  /** A mistake in its plan. @default ignored */
  onFinding?(finding: WriteFinding): void
}

/** `run` groups the waves of one reconcile; without it, each wave stands for itself. */
export type Execute = (wave: Wave, run?: WriteRun) => Promise<readonly MutationOutcome[]>

export function createExecutor(options: ExecutorOptions): Execute {
  const { writer, reader, fieldManager, outputs, kinds, parallel = 8, timeoutMs, onSent } = options
  const declared = outputs.map((output) => inputOf<KubeObject, DeclaredOutput>(output))
  const reported = new Set(kinds.map(formatResource))
  const limits = timeoutMs === undefined ? {} : { timeoutMs }
  const identityOf = ({ as }: Mutation): Pick<PatchOptions, 'impersonate'> =>
    as ? { impersonate: impersonationOf(as).user } : {}

  const isDeclared = (mutation: Mutation): boolean => {
    if (mutation.verb === 'status' || mutation.verb === 'finalizers')
      return reported.has(formatResource(mutation.resource))
    const { embedded } = mutation
    if (embedded !== undefined && options.embedded?.includes(embedded))
      return (
        mutation.verb === 'delete' ||
        mutation.verb === 'marks' ||
        mutation.object.metadata.labels?.[embedded] !== undefined
      )
    return mayWrite(declared, mutation.resource, mutationName(mutation), editVerbOf(mutation))
  }

  const send = async (mutation: Mutation): Promise<UntypedObject | undefined> => {
    const { resource } = mutation
    switch (mutation.verb) {
      case 'apply':
        return await writer.apply(resource, mutation.object, {
          fieldManager,
          fieldValidation: options.fieldValidation?.(resource),
          force: mutation.force,
          createOnly: isCreation(mutation),
          ...identityOf(mutation),
          ...limits,
        })
      case 'status':
        return await writer.apply(resource, mutation.object, {
          fieldManager,
          force: true,
          subresource: 'status',
          ...limits,
        })
      case 'finalizers': {
        const { uid, resourceVersion, finalizers } = mutation
        const patch = { metadata: { uid, resourceVersion, finalizers } }
        const patching: PatchOptions = { type: 'merge', fieldManager, ...limits }
        const answer = await writer.patch(resource, mutation.name, patch, patching)
        return isReleased(answer) ? undefined : answer
      }
      case 'marks': {
        const { uid, resourceVersion, labels, annotations, spec } = mutation
        const patch = { metadata: { uid, resourceVersion, labels, annotations }, ...(spec && { spec }) }
        const patching: PatchOptions = { type: 'merge', fieldManager, ...identityOf(mutation), ...limits }
        const answer = await writer.patch(resource, mutation.name, patch, patching)
        return answer
      }
      default: {
        const { uid } = mutation
        const answer = await writer.delete(resource, mutation.name, {
          preconditions: { uid },
          propagation: 'Background',
          ...(mutation.gracePeriodSeconds !== undefined && { gracePeriodSeconds: mutation.gracePeriodSeconds }),
          ...identityOf(mutation),
          ...limits,
        })
        return isStillThere(answer) ? answer : undefined
      }
    }
  }

  const carryOut = async (mutation: Mutation): Promise<MutationOutcome> => {
    try {
      const object = await send(mutation)
      return { result: 'done', ...(object && { object }) }
    } catch (error) {
      const isTaken = isMusterError(error, clientErrors.Conflict) || isMusterError(error, kubeErrors.ApplyConflict)
      if (isTaken && isCreation(mutation)) return await readExisting(mutation, error)
      // NotFound is success for a delete, and for letting go an object that is gone already.
      const isGone = isMusterError(error, clientErrors.NotFound) && isEnding(mutation)
      return isGone ? { result: 'done' } : { result: 'failed', error: withoutSecrets(error, mutation) }
    }
  }

  /** The object that kept another one from being created. If it is gone again, the conflict stands. */
  const readExisting = async (mutation: Mutation, conflict: unknown): Promise<MutationOutcome> => {
    try {
      return { result: 'exists', object: await reader.get(mutation.resource, mutationName(mutation), limits) }
    } catch (error) {
      return { result: 'failed', error: isMusterError(error, clientErrors.NotFound) ? conflict : error }
    }
  }

  /** Why the mutation is not sent. */
  const refusal = (
    combined: Combined,
    subjects: readonly string[],
    run: WriteRun | undefined,
  ): MusterError | undefined => {
    const { mutation, contradictions } = combined
    const object = { kind: kindText(mutation.resource), name: mutationName(mutation) }
    if (!isDeclared(mutation)) {
      const name = formatResource(mutation.resource)
      const same = declared.filter((output) => formatResource(output.resource) === name).map(describeInput)
      const message =
        same.length === 0
          ? `${fieldManager} wants to write ${name}, which it does not declare.`
          : `${fieldManager} wants to write ${placeOf(mutation)}, but declares ${same.toSorted().join(', ')} only.`
      run?.onFinding?.({ kind: 'undeclaredWrite', object, subjects, fields: [], message })
      return new MusterError(operatorErrors.UndeclaredOutput, message)
    }
    if (contradictions.length > 0) {
      const about = contradictions.filter((path) => path !== '').join(', ') || 'whether it should exist'
      const message = `${fieldManager}: ${subjects.join(' and ')} both write ${placeOf(mutation)}, and disagree about ${about}.`
      run?.onFinding?.({ kind: 'severalWrites', object, subjects, fields: contradictions, message })
      return new MusterError(managerErrors.ContradictoryWrites, message)
    }
    const target = targetOf(mutation)
    if (run?.written.has(target)) {
      const message = `${fieldManager}: ${subjects.join(' and ')} is written more than once in one run: ${placeOf(mutation)}.`
      run?.onFinding?.({ kind: 'severalWrites', object, subjects, fields: [], message })
    }
    if (!isFirstOfTwo(mutation)) run?.written.add(target)
    return undefined
  }

  return async (wave, run) => {
    const outcomes: MutationOutcome[] = wave.map(() => ({ result: 'done' }))
    const answer = ({ positions }: Combined, outcome: MutationOutcome): void => {
      for (const position of positions) outcomes[position] = outcome
    }
    const due: Combined[] = []
    for (const combined of combine(wave)) {
      const subjects = [...new Set(combined.positions.map((position) => wave[position]!.subject))]
      const error = refusal(combined, subjects, run)
      if (error) answer(combined, { result: 'failed', error })
      else due.push(combined)
    }
    // Requests cost the server, whatever their result.
    if (due.length > 0) onSent?.(due.length)
    const left = due.values()
    const work = async (): Promise<void> => {
      for (const combined of left) {
        const mayLeave = run?.isHeld?.() ?? true
        const outcome: MutationOutcome = mayLeave
          ? await carryOut(combined.mutation)
          : { result: 'failed', error: termOver() }
        // Nothing was written, so the next write of the object is its first.
        if (outcome.result === 'exists') run?.written.delete(targetOf(combined.mutation))
        answer(combined, outcome)
      }
    }
    await Promise.all(Array.from({ length: Math.min(parallel, due.length) }, work))
    return outcomes
  }
}

function isCreation(mutation: Mutation): boolean {
  return mutation.verb === 'apply' && mutation.why === 'missing'
}

/** What must be allowed if the object belongs to others. */
function editVerbOf(mutation: Mutation): EditVerb {
  if (mutation.verb === 'delete') return 'delete'
  return isCreation(mutation) ? 'create' : 'patch'
}

function isEnding(mutation: Mutation): boolean {
  const { verb } = mutation
  if (verb === 'finalizers') return mutation.why === 'removed'
  return verb === 'delete' || (verb === 'marks' && mutation.why === 'released')
}

/** An object that is replaced is deleted and created in one run, and one that is taken back is written then. */
function isFirstOfTwo(mutation: Mutation): boolean {
  if (mutation.verb === 'delete') return mutation.why === 'replaced'
  return mutation.verb === 'marks' && mutation.why === 'retaken'
}

function placeOf(mutation: Mutation): string {
  const { namespace, name } = mutationName(mutation)
  return `${mutation.resource.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
}
