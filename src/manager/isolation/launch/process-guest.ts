/** A guest in a process of its own: pipes are its only connections. */
import { spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../clock/clock.ts'
import { openControlGroup } from '../sandbox/control-group.ts'
import type { Guest, GuestEvents } from './guest-handle.ts'
import { createFrameReader, frame } from '../protocol/frame.ts'
import { withoutInherited } from '../sandbox/inherited-descriptors.ts'
import type { Limits } from './limits.ts'
import { relayOutput } from './output.ts'
import { guestFile, permissionFlags } from '../sandbox/readable.ts'
import { mostProcesses, sandboxed, type SandboxOptions, signalOf } from '../sandbox/sandbox.ts'

interface ProcessGuestOptions {
  readonly readable: readonly string[]
  readonly limits: Pick<Limits, 'memoryMb' | 'messageBytes'>
  /** Absent: no sandbox, only the permission model. */
  readonly sandbox: SandboxOptions | undefined
  readonly clock: Clock
}

/** How much of its last output is kept to explain its end. */
const tailLength = 4096

export function startProcessGuest(options: ProcessGuestOptions, events: GuestEvents): Guest {
  const { readable, sandbox, clock } = options
  const { memoryMb, messageBytes } = options.limits
  const node = [
    process.execPath,
    ...permissionFlags(readable),
    `--max-old-space-size=${memoryMb}`,
    '--max-semi-space-size=4',
    guestFile,
    String(messageBytes),
  ]
  const group = sandbox && openControlGroup({ memoryBytes: sandbox.memoryMb * 2 ** 20, processes: mostProcesses })
  const sandboxedNode = sandbox && sandboxed({ ...sandbox, cgroups: group?.joins ?? [] }, node)
  const [program = '', ...args] = sandboxedNode?.command ?? node
  const child = spawn(program, args, {
    env: sandboxedNode?.env ?? {},
    cwd: '/',
    stdio: withoutInherited(['ignore', 'pipe', 'pipe', 'pipe', 'pipe']),
    // A process group of its own: killed as a whole.
    detached: true,
  })
  const [, stdout, stderr, talk, reads] = child.stdio as unknown as readonly [null, Duplex, Duplex, Duplex, Duplex]
  let tail = ''
  for (const stream of [stdout, stderr]) {
    const onPrinted = (text: string): void => {
      tail = (tail + text).slice(-tailLength)
      events.onPrinted(text)
    }
    relayOutput(stream, { ...events, onPrinted, clock })
  }
  talk.on('data', createFrameReader(events.onText, messageBytes, events.onTooLong))
  reads.on(
    'data',
    createFrameReader((text) => void reads.write(frame(events.onRead(text))), messageBytes, events.onTooLong),
  )
  // Errors of broken pipes are ignored: the end of the process is reported below.
  for (const stream of [stdout, stderr, talk, reads]) stream.on('error', () => undefined)

  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    // Its last output is read to the end, beyond the rate limit.
    child.on('exit', () => {
      stdout.resume()
      stderr.resume()
    })
    child.on('close', (code, signal) => {
      const isShort = group?.ranOut() ?? false
      group?.remove()
      resolve(isShort ? outOf(memoryMb) : reasonOf(code, signal ?? signalOf(code) ?? null, tail, memoryMb))
    })
  })
  return {
    ended,
    send: (text) => void talk.write(frame(text)),
    kill() {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended already.
      }
    },
  }
}

function outOf(memoryMb: number): string {
  return `out of memory, of which it has ${memoryMb} MiB`
}

function reasonOf(code: number | null, signal: string | null, tail: string, memoryMb: number): string {
  if (/out of memory|Failed to allocate/i.test(tail)) return outOf(memoryMb)
  const thrown = tail.split('\n').findLast((line) => /^\w+/.exec(line)?.[0].endsWith('Error') && line.includes(': '))
  return thrown ?? (signal === null ? `it left with exit code ${code}` : `it was ended by ${signal}`)
}
