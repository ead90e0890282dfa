/** The thread that renders: one request after the other. Its only output are messages. */
import { enableCompileCache } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { WorkerRequest, WorkerSettings } from './render-thread.ts'

const { compileCache } = workerData as WorkerSettings
// Before the rest is loaded, so that the next thread finds its compiled code.
if (compileCache !== undefined) enableCompileCache(compileCache)

// Requests wait in the port until there is a listener. The build of this file does not support a top-level await.
async function listen(): Promise<void> {
  const { renderAnswer } = await import('./render-answer.ts')
  const answer = async (request: WorkerRequest): Promise<void> =>
    parentPort?.postMessage(await renderAnswer(request), [])
  parentPort?.on('message', (request: WorkerRequest) => void answer(request))
}
void listen()
