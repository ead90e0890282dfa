/**
 * Carries plans out: each mutation becomes one request, made as the operator, and answered into the shared cache before
 * anything else is done. What one wave holds goes out at once.
 */
import type { PatchOptions } from '../client/client.ts'
import type { Writer } from '../cache/writer.ts'
import { isMusterError, MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { Status, UntypedObject } from '../kube/object.ts'
import type { Mutation, Outcome, Wave } from '../operator/plan.ts'

export interface ExecutorOptions {
  readonly writer: Writer
  /** Under which the operator owns fields. */
  readonly fieldManager: string
  /** What it may write. */
  readonly outputs: readonly Resource[]
  /** The kinds whose status and finalizers it keeps. */
  readonly kinds: readonly Resource[]
}

export type Execute = (wave: Wave) => Promise<readonly Outcome[]>

export function createExecutor({ writer, fieldManager, outputs, kinds }: ExecutorOptions): Execute {
  const written = new Set(outputs.map(formatResource))
  const reported = new Set(kinds.map(formatResource))

  const check = (mutation: Mutation): void => {
    const name = formatResource(mutation.resource)
    const isOwnKind = mutation.verb === 'status' || mutation.verb === 'finalizers'
    if ((isOwnKind ? reported : written).has(name)) return
    throw new MusterError('UndeclaredOutput', `${fieldManager} wants to write ${name}, which it does not declare.`)
  }

  const send = async (mutation: Mutation): Promise<UntypedObject | undefined> => {
    const { resource } = mutation
    switch (mutation.verb) {
      case 'apply':
        return await writer.apply(resource, mutation.object, { fieldManager, force: mutation.force })
      case 'status':
        return await writer.apply(resource, mutation.object, { fieldManager, force: true, subresource: 'status' })
      case 'finalizers': {
        const { uid, resourceVersion, finalizers } = mutation
        const patch = { metadata: { uid, resourceVersion, finalizers } }
        const options: PatchOptions = { type: 'merge', fieldManager }
        return await writer.patch(resource, mutation.name, patch, options)
      }
      default: {
        const { uid } = mutation
        const answer = await writer.delete(resource, mutation.name, {
          preconditions: { uid },
          propagation: 'Background',
        })
        return isStillThere(answer) ? answer : undefined
      }
    }
  }

  const carryOut = async (mutation: Mutation): Promise<Outcome> => {
    try {
      check(mutation)
      const object = await send(mutation)
      return { result: 'done', ...(object && { object }) }
    } catch (error) {
      // Gone already is what was wanted, and so is an end that came before the last finalizer was taken away.
      const isGone = isMusterError(error, 'NotFound') && isEnding(mutation)
      return isGone ? { result: 'done' } : { result: 'failed', error }
    }
  }

  return (wave) => Promise.all(wave.map(carryOut))
}

function isEnding(mutation: Mutation): boolean {
  return mutation.verb === 'delete' || (mutation.verb === 'finalizers' && mutation.why === 'removed')
}

/** A delete answers with the object when something (a finalizer, a grace period) keeps it for now. */
function isStillThere(answer: UntypedObject | Status): answer is UntypedObject {
  return answer.kind !== 'Status' && (answer as UntypedObject).metadata.deletionTimestamp !== undefined
}
