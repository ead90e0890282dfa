/**
 * Entry point of a guest, in a worker or process. It finds its channels and hides them from author code: in a worker
 * they arrive on the parent port, which is then closed; in a process they are the descriptors 3 and 4.
 */
import { readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { isMainThread, type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { createFrameReader, frame } from '../protocol/frame.ts'
import { type Channel, serveGuest } from './guest.ts'

/** The first message to a worker. */
export interface WorkerStart {
  readonly talk: MessagePort
  readonly reads: MessagePort
  /** One cell: the number of answered reads. */
  readonly answered: SharedArrayBuffer
  readonly mostBytes: number
}

function workerChannel({ talk, reads, answered }: WorkerStart): Channel {
  const cell = new Int32Array(answered)
  let asked = 0
  return {
    send: (text) => talk.postMessage(text, []),
    receive: (handle) => void talk.on('message', (text: string) => handle(text)),
    read(text) {
      reads.postMessage(text, [])
      // The answer is posted before the count increases: once the count is there, so is the answer.
      Atomics.wait(cell, 0, asked)
      asked = (asked + 1) | 0
      return (receiveMessageOnPort(reads) as { readonly message: string }).message
    },
  }
}

const talkFd = 3
const readsFd = 4

function processChannel(): Channel {
  const talk = new Socket({ fd: talkFd, readable: true, writable: true })
  // The manager is gone: there is nothing left to do.
  const leave = (): never => process.exit(0)
  talk.on('error', leave)
  talk.on('close', leave)
  const answers: string[] = []
  const reader = createFrameReader((text) => void answers.push(text))
  const chunk = Buffer.alloc(64 * 1024)
  return {
    send: (text) => void talk.write(frame(text)),
    receive: (handle) => void talk.on('data', createFrameReader(handle)),
    read(text) {
      writeAll(readsFd, frame(text))
      for (;;) {
        const answer = answers.shift()
        if (answer !== undefined) return answer
        const size = readSync(readsFd, chunk)
        if (size === 0) leave()
        reader(chunk.subarray(0, size))
      }
    },
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
}

if (isMainThread) {
  serveGuest({ channel: processChannel(), mostBytes: Number(process.argv[2]) })
} else {
  parentPort?.once('message', (start: WorkerStart) => {
    parentPort?.close()
    serveGuest({ channel: workerChannel(start), mostBytes: start.mostBytes })
  })
}
