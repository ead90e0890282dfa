import { describe, expect, it } from 'vitest'
import { virtualClock } from '../clock/virtual-clock.ts'
import { transportErrors } from '../transport/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { ExecOptions } from './client.ts'
import { execProtocols, runCommand } from './exec.ts'
import type { MessageStream } from '../transport/transport.ts'

const success = '{"kind":"Status","status":"Success"}'
const exit = (code: string): string =>
  JSON.stringify({
    kind: 'Status',
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with exit code ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: code }] },
  })

function message(channel: number, content: string | Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(channel), Buffer.from(content)])
}

/** The far end of a stream, in the hands of a test. */
function farEnd(protocol = 'v5.channel.k8s.io') {
  const queue: (Uint8Array | Error | 'end')[] = []
  let wake: () => void = () => undefined
  const sent: string[] = []
  let closed = 0
  async function* messages(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const next = queue.shift()
      if (next === 'end') return
      if (next instanceof Error) throw next
      if (next) yield next
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const stream: MessageStream = {
    protocol,
    send: (one) => void sent.push(`${one[0]} ${Buffer.from(one.subarray(1)).toString()}`),
    messages: messages(),
    close: () => void closed++,
  }
  const put = (next: Uint8Array | Error | 'end'): void => {
    queue.push(next)
    wake()
  }
  return { stream, sent, put, closed: () => closed }
}

function start(end: ReturnType<typeof farEnd>, options: ExecOptions = {}) {
  const clock = virtualClock()
  const output: string[] = []
  const note = (name: string) => (chunk: Uint8Array) => void output.push(`${name} ${Buffer.from(chunk).toString()}`)
  const running = runCommand(
    end.stream,
    { onStdout: note('out'), onStderr: note('err'), ...options },
    clock,
    'exec in pod a/b',
  )
  running.catch(() => undefined)
  return { clock, output, running }
}

async function* source(...items: readonly string[]): AsyncGenerator<Uint8Array, void, void> {
  for (const item of items) yield Buffer.from(item)
}

const silent: AsyncIterable<never> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }

describe('a command', () => {
  it('separates its output streams, and gets its exit code from the last channel', async () => {
    const end = farEnd()
    const { output, running } = start(end)
    for (const one of [message(1, ''), message(1, 'hello'), message(2, 'oops'), message(3, success)]) end.put(one)
    end.put('end')
    expect(await running).toEqual({ exitCode: 0 })
    expect(output).toEqual(['out hello', 'err oops'])
    expect(end.closed()).toBe(1)
  })

  it('that fails is a result', async () => {
    const end = farEnd('v4.channel.k8s.io')
    const { running } = start(end)
    end.put(message(3, exit('3')))
    end.put('end')
    expect(await running).toEqual({ exitCode: 3 })
  })

  it('that could not be run is ExecFailed, with the message of the server', async () => {
    const refusals = [
      '{"kind":"Status","status":"Failure","message":"container not found"}',
      exit('many'),
      '{"kind":"Status","status":"Failure","reason":"NonZeroExitCode"}',
      '{}',
    ]
    for (const refusal of refusals) {
      const end = farEnd()
      const { running } = start(end)
      end.put(message(3, refusal))
      end.put('end')
      await expect(running).rejects.toMatchObject({ name: 'ExecFailed' })
      await expect(running).rejects.toThrow('exec in pod a/b:')
    }
  })

  it('loses no output that follows the status, and waits a limited time for the end', async () => {
    const end = farEnd()
    const { clock, output, running } = start(end)
    end.put(message(3, exit('1')))
    end.put(message(1, 'late'))
    await clock.advance(4_999)
    expect(output).toEqual(['out late'])
    await clock.advance(1)
    expect(await running).toEqual({ exitCode: 1 })
    expect(end.closed()).toBe(1)
  })

  it('may receive its status in pieces, split within a character', async () => {
    const end = farEnd()
    const { running } = start(end)
    const status = Buffer.from('{"status":"Failure","message":"größe"}')
    end.put(message(3, status.subarray(0, 33)))
    end.put(message(3, status.subarray(33)))
    end.put('end')
    await expect(running).rejects.toThrow('größe')
  })

  it('whose stream ends without a status is lost, not successful', async () => {
    const silentEnd = farEnd()
    const { running } = start(silentEnd)
    silentEnd.put(message(1, 'x'))
    silentEnd.put('end')
    await expect(running).rejects.toMatchObject({ name: 'ConnectionLost' })

    const garbled = farEnd()
    const other = start(garbled)
    garbled.put(message(3, '{"status":"Succ'))
    garbled.put('end')
    await expect(other.running).rejects.toMatchObject({ name: 'ProtocolError' })
  })

  it('whose stream breaks keeps the status it had', async () => {
    const cut = farEnd()
    const { running } = start(cut)
    cut.put(new MusterError(transportErrors.ConnectionLost, 'reset'))
    await expect(running).rejects.toThrow('reset')

    const told = farEnd()
    const other = start(told)
    told.put(message(3, success))
    told.put(new MusterError(transportErrors.ConnectionLost, 'reset'))
    expect(await other.running).toEqual({ exitCode: 0 })
  })

  it('receives its input, and end-of-input where the protocol supports it', async () => {
    for (const [protocol, wanted] of [
      ['v5.channel.k8s.io', ['0 ab', '0 cd', '255 \0']],
      ['v4.channel.k8s.io', ['0 ab', '0 cd']],
    ] as const) {
      const end = farEnd(protocol)
      const { clock, running } = start(end, { stdin: source('ab', 'cd') })
      await clock.settle()
      expect(end.sent).toEqual(wanted)
      end.put(message(3, success))
      end.put('end')
      await running
    }
  })

  it('receives long input in messages of limited size', async () => {
    const end = farEnd()
    const { clock, running } = start(end, { stdin: source('x'.repeat(80_000)) })
    await clock.settle()
    const input = end.sent.filter((one) => one.startsWith('0 '))
    expect(input.map((one) => one.length - '0 '.length)).toEqual([32_768, 32_768, 14_464])
    end.put(message(3, success))
    end.put('end')
    await running
  })

  it('receives the size of its terminal', async () => {
    async function* sizes() {
      yield { columns: 80, rows: 24 }
    }
    const end = farEnd()
    const { clock, running } = start(end, { tty: true, sizes: sizes() })
    await clock.settle()
    expect(end.sent).toEqual(['4 {"Width":80,"Height":24}'])
    end.put(message(3, success))
    end.put('end')
    await running
  })

  it('ends even if its input does not, and then reads no more of it', async () => {
    const end = farEnd()
    let left = false
    const stdin: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          left = true
          return Promise.resolve({ done: true, value: undefined })
        },
      }),
    }
    const { running } = start(end, { stdin })
    end.put(message(3, success))
    end.put('end')
    expect(await running).toEqual({ exitCode: 0 })
    expect(left).toBe(true)
  })

  it('gets no input after its end', async () => {
    const end = farEnd()
    let bring: (chunk: IteratorResult<Uint8Array>) => void = () => undefined
    const stdin: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise((resolve) => (bring = resolve)) }),
    }
    const { clock, running } = start(end, { stdin })
    end.put(message(3, success))
    end.put('end')
    await running
    bring({ done: false, value: Buffer.from('late') })
    await clock.settle()
    expect(end.sent).toEqual([])
  })

  it('whose input fails, fails', async () => {
    async function* broken(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('a')
      throw new Error('disk')
    }
    const end = farEnd()
    const { running } = start(end, { stdin: broken() })
    await expect(running).rejects.toMatchObject({ name: 'ExecFailed', cause: { message: 'disk' } })
    expect(end.closed()).toBe(1)
  })

  it('ends at once when aborted', async () => {
    const end = farEnd()
    const abort = new AbortController()
    const { running } = start(end, { signal: abort.signal, stdin: silent })
    abort.abort()
    await expect(running).rejects.toMatchObject({ name: 'Aborted' })
    expect(end.closed()).toBe(1)
  })

  it('is not run with a protocol without an exit status', async () => {
    const end = farEnd('v3.channel.k8s.io')
    const { running } = start(end)
    await expect(running).rejects.toMatchObject({ name: 'ProtocolError' })
    expect(end.closed()).toBe(1)
    expect(execProtocols[0]).toBe('v5.channel.k8s.io')
  })
})
