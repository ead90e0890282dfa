/** A guest in a worker: a thread with a heap of its own, an empty environment and Node's permission model. */
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Clock } from '../../../clock/clock.ts'
import type { Guest, GuestEvents } from './guest-handle.ts'
import type { WorkerStart } from '../guest/guest-main.ts'
import type { Limits } from './limits.ts'
import { relayOutput } from './output.ts'
import { guestFile, permissionFlags } from '../sandbox/readable.ts'

interface WorkerGuestOptions {
  readonly name: string
  readonly readable: readonly string[]
  readonly limits: Pick<Limits, 'memoryMb' | 'messageBytes'>
  readonly clock: Clock
}

export function startWorkerGuest(options: WorkerGuestOptions, events: GuestEvents): Guest {
  const { name, readable, clock } = options
  const { memoryMb, messageBytes } = options.limits
  const worker = new Worker(guestFile, {
    name,
    env: {},
    argv: [],
    execArgv: [...permissionFlags(readable)],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
    // Its output is not the manager's.
    stdout: true,
    stderr: true,
  })
  const talk = new MessageChannel()
  const reads = new MessageChannel()
  const answered = new SharedArrayBuffer(4)
  const cell = new Int32Array(answered)

  talk.port1.on('message', (text: unknown) => {
    if (typeof text === 'string' && text.length <= messageBytes) events.onText(text)
    else events.onTooLong(typeof text === 'string' ? text.length : Infinity)
  })
  reads.port1.on('message', (text: unknown) => {
    reads.port1.postMessage(events.onRead(String(text)))
    Atomics.add(cell, 0, 1)
    Atomics.notify(cell, 0)
  })
  for (const stream of [worker.stdout, worker.stderr]) relayOutput(stream, { ...events, clock })

  let why: string | undefined
  const ended = new Promise<string>((resolve) => {
    worker.on('error', (error: unknown) => (why = reasonOf(error, memoryMb)))
    worker.on('exit', (code) => {
      talk.port1.close()
      reads.port1.close()
      resolve(why ?? `it left with exit code ${code}`)
    })
  })
  const start: WorkerStart = { talk: talk.port2, reads: reads.port2, answered, mostBytes: messageBytes }
  worker.postMessage(start, [talk.port2, reads.port2])
  return {
    ended,
    send: (text) => talk.port1.postMessage(text),
    kill: () => void worker.terminate(),
    buffers: async () => (await worker.getHeapStatistics()).external_memory,
  }
}

function reasonOf(error: unknown, memoryMb: number): string {
  if (!(error instanceof Error)) return String(error)
  const { code, name, message } = error as NodeJS.ErrnoException
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? `out of memory, of which it has ${memoryMb} MiB` : `${name}: ${message}`
}
