/** An HTTP server for tests of chart sources: it answers as it is told, and writes down what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/clock/clock.ts'
import type { PemPair } from '../certificates.ts'

export interface Asked {
  readonly path: string
  readonly authorization: string | undefined
}

export interface ChartServer {
  /** `127.0.0.1:PORT`. */
  readonly host: string
  readonly url: string
  readonly asked: readonly Asked[]
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Closed when the test ends, with whatever hangs in it. */
export async function startChartServer(answer: Answer, tls?: PemPair): Promise<ChartServer> {
  const asked: Asked[] = []
  const noted: Answer = (request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization })
    answer(request, response)
  }
  const server = tls ? createTlsServer(tls, noted) : createServer(noted)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => void server.close(resolve))
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { host, url: `${tls ? 'https' : 'http'}://${host}`, asked }
}

/** Time that passes only when a test, or a wait, says so. */
export interface TestClock extends Clock {
  /** The waits that were asked for, in milliseconds. */
  readonly waits: readonly number[]
  /** Fires the timers. */
  expire(): void
}

export function testClock(): TestClock {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const waits: number[] = []
  const timers = new Set<() => void>()
  return {
    waits,
    now: () => now,
    after(_ms, fire) {
      timers.add(fire)
      return { cancel: () => void timers.delete(fire) }
    },
    sleep(ms) {
      waits.push(ms)
      now += ms
      return Promise.resolve()
    },
    expire() {
      for (const fire of timers) fire()
    },
  }
}

export interface TarEntry {
  readonly name: string
  readonly text?: string
  /** The type flag. @default '0', a regular file */
  readonly type?: string
  readonly link?: string
  /** Claims another size than that of the text. */
  readonly size?: number
}

/** A tar archive, gzipped, with any entries. */
export function packed(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.map(({ name, text = '', type = '0', link = '', size }) => {
    const data = Buffer.from(text)
    const header = Buffer.alloc(512)
    header.write(name, 0, 100)
    header.write('0000644\0', 100)
    header.write(`${(size ?? data.length).toString(8).padStart(11, '0')}\0`, 124)
    header.write('        ', 148)
    header.write(type, 156)
    header.write(link, 157, 100)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return Buffer.concat([header, data, Buffer.alloc((512 - (data.length % 512)) % 512)])
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]))
}

/** A chart of one template. */
export function packedChart(name: string, version: string): Buffer {
  return packed([
    { name: `${name}/Chart.yaml`, text: `apiVersion: v2\nname: ${name}\nversion: ${version}\n` },
    { name: `${name}/templates/a.yaml`, text: `kind: A\nmetadata:\n  name: ${name}-${version}\n` },
  ])
}
