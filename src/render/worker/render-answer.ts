/** What the thread that renders answers to a request. */
import { randomBytes } from 'node:crypto'
import { MusterError } from '../../kube/muster-error.ts'
import { renderRequest } from './chart-request.ts'
import type { WorkerAnswer, WorkerRequest } from './render-thread.ts'

export async function renderAnswer({ id, request, now }: WorkerRequest): Promise<WorkerAnswer> {
  try {
    if ('content' in request) {
      // Loaded with its first use: most threads render charts only.
      const { renderFolderRequest } = await import('./folder-request.ts')
      return { id, objects: renderFolderRequest(request) }
    }
    const clock = { now: () => now }
    return { id, result: renderRequest(request, { randomBytes: (size) => randomBytes(size), clock }) }
  } catch (error) {
    const { message } = error as Error
    if (!(error instanceof MusterError)) return { id, problem: { message } }
    const { name, code, retry, cure } = error
    return { id, problem: { message, definition: { name, code, retry, cure } } }
  }
}
