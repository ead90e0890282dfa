/**
 * Who looks on: a bare HTTP/2 client that follows what the operators write, and makes the changes that they follow. It has
 * one connection for its watches, so that what it is told of a CR and of a ConfigMap has come the same way, and another one
 * for what it writes.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Access } from '../../test/real/cluster.ts'

export interface Observer {
  /** The text of a 2xx answer; anything else throws. */
  send(method: string, path: string, body?: unknown, type?: string): Promise<string>
  /** Calls `onLine` with each line of a watch until it is closed; one that ends before is opened again where it was. */
  follow(path: string, onLine: (line: string) => void): Promise<() => void>
  close(): void
}

/** What is not to be counted is recognised by it. */
export const observerAgent = 'bench-observer'

/** With a window like that of Go's clients: a server ends the watches of those that are too slow for it. */
function openSession({ server, ca }: Access): ClientHttp2Session {
  const session = connect(server, { ca, settings: { initialWindowSize: 4 << 20 } })
  // Whoever has a request under way hears of it there.
  session.on('error', () => undefined)
  session.once('connect', () => session.setLocalWindowSize(1 << 30))
  return session
}

const refusal = '{"type":"ERROR"'
const versionPattern = /"resourceVersion":"(\d+)"/

export function openObserver(access: Access): Observer {
  let writes = openSession(access)
  let watches = openSession(access)
  let isOver = false
  // A server ends a connection on which nothing has happened for some minutes.
  const alive = (session: ClientHttp2Session): ClientHttp2Session =>
    session.closed || session.destroyed ? openSession(access) : session
  const headers = (method: string, path: string): Record<string, string> => ({
    ':method': method,
    ':path': path,
    authorization: `Bearer ${access.tokens.admin}`,
    accept: 'application/json',
    'user-agent': observerAgent,
  })
  return {
    send(method, path, body, type = 'application/json') {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      writes = alive(writes)
      const stream = writes.request(
        { ...headers(method, path), ...(body !== undefined && { 'content-type': type }) },
        { endStream: body === undefined },
      )
      let status = 0
      let text = ''
      stream.setEncoding('utf8')
      stream.on('response', (answer) => (status = Number(answer[':status'])))
      stream.on('data', (chunk: string) => (text += chunk))
      stream.on('end', () => {
        if (status >= 200 && status < 300) resolve(text)
        else reject(new Error(`${method} ${path}: ${status} ${text}`))
      })
      stream.on('error', reject)
      if (body !== undefined) stream.end(typeof body === 'string' ? body : JSON.stringify(body))
      return promise
    },
    async follow(path, onLine) {
      const opened = Promise.withResolvers<void>()
      let stream: ClientHttp2Stream
      let version: string | undefined
      let isClosed = false
      const read = (line: string): void => {
        version = line.startsWith(refusal) ? undefined : (versionPattern.exec(line)?.[1] ?? version)
        onLine(line)
      }
      const open = (): void => {
        let rest = ''
        watches = alive(watches)
        stream = watches.request(headers('GET', version === undefined ? path : `${path}&resourceVersion=${version}`))
        stream.setEncoding('utf8')
        stream.on('response', ({ ':status': status }) => {
          if (status === 200) opened.resolve()
          else opened.reject(new Error(`GET ${path}: ${status}`))
        })
        stream.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) read(line)
        })
        stream.on('error', opened.reject)
        // A server ends the watches of those that are too slow for it, and may be the slow one itself.
        stream.on('close', () => {
          if (!isClosed && !isOver) setTimeout(open, 10)
        })
      }
      open()
      const close = (): void => {
        isClosed = true
        stream.close()
      }
      await opened.promise.catch((error: unknown) => {
        close()
        throw error
      })
      return close
    },
    close() {
      isOver = true
      for (const session of [writes, watches]) session.destroy()
    },
  }
}

/** `count` of them, so many at once. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker))
}

/** Milliseconds from event to write, and how many changes were made for them, those that did not count included. */
export interface Latencies {
  readonly ms: readonly number[]
  readonly made: number
}

/** Those of which the operator may not hear again within this time are lost. */
const longestMs = 60_000

export interface Changes {
  /** One after the other: each is followed by its write, and by a pause in which nothing happens. The first do not count. */
  oneByOne(count: number, warmUp: number): Promise<Latencies>
  /** So many a second, whether or not the operator keeps up. */
  steadily(count: number, perSecond: number): Promise<Latencies>
  close(): void
}

interface Line {
  readonly type: string
  readonly object: {
    readonly metadata: { readonly name: string }
    readonly spec?: { readonly value: string }
    readonly data?: { readonly value?: string }
  }
}

/**
 * Changes of CRs, timed from when a watch shows the changed CR to when a watch shows the ConfigMap made from it: what the
 * server needs to store the change is no part of it. A ConfigMap that skips a change has answered it.
 */
export async function openChanges(
  observer: Observer,
  paths: { readonly widgets: string; readonly configMaps: string },
  names: readonly string[],
): Promise<Changes> {
  const seenAt = new Map<number, number>()
  /** Of each CR, the changes that no ConfigMap shows yet, oldest first. */
  const open = new Map<string, { readonly value: number; done: (ms: number) => void }[]>(
    names.map((name) => [name, []]),
  )
  // Higher than any value before, whoever made the changes then.
  let latest = Math.ceil(performance.now())

  const closings = await Promise.all([
    observer.follow(`${paths.widgets}?watch=true`, (line) => {
      const { object } = JSON.parse(line) as Line
      const value = Number(object.spec?.value)
      if (!seenAt.has(value)) seenAt.set(value, performance.now())
    }),
    observer.follow(`${paths.configMaps}?watch=true`, (line) => {
      const now = performance.now()
      const { object } = JSON.parse(line) as Line
      const waiting = open.get(object.metadata.name)
      for (let first = waiting?.[0]; first && Number(object.data?.value) >= first.value; first = waiting?.[0]) {
        waiting?.shift()
        // The two watches are of two caches of the server: the later event may come first.
        first.done(Math.max(now - (seenAt.get(first.value) ?? now), 0))
      }
    }),
  ])
  // What they begin with is there before the first change.
  await sleep(500)

  /** Of one CR, in the order of their values: what overtakes another would never be seen. */
  const sent = new Map<string, Promise<unknown>>()
  const inTurn = async (name: string, value: number): Promise<void> => {
    const before = sent.get(name)
    const send = async (): Promise<void> => {
      await before
      const body = { spec: { value: String(value) } }
      await observer.send('PATCH', `${paths.widgets}/${name}`, body, 'application/merge-patch+json')
    }
    const sending = send()
    sent.set(name, sending)
    await sending
  }

  const change = async (): Promise<number> => {
    const value = ++latest
    const name = names[value % names.length]!
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    open.get(name)!.push({ value, done: resolve })
    const fail = async (): Promise<void> => {
      const [widget, configMap] = await Promise.all([
        observer.send('GET', `${paths.widgets}/${name}`),
        observer.send('GET', `${paths.configMaps}/${name}`),
      ])
      reject(new Error(`change ${value} of ${name} has no effect: ${widget} ${configMap}`))
    }
    const timer = setTimeout(() => void fail().catch(reject), longestMs)
    try {
      await inTurn(name, value)
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async oneByOne(count, warmUp) {
      const found: number[] = []
      for (let index = 0; index < count + warmUp; index++) {
        const ms = await change()
        if (index >= warmUp) found.push(ms)
        await sleep(15)
      }
      return { ms: found, made: count + warmUp }
    },
    async steadily(count, perSecond) {
      const begun = performance.now()
      const under: Promise<number>[] = []
      while (under.length < count) {
        const due = Math.min(Math.floor(((performance.now() - begun) / 1000) * perSecond), count)
        while (under.length < due) under.push(awaitedLater(change()))
        await sleep(1)
      }
      return { ms: await Promise.all(under), made: count }
    },
    close() {
      for (const close of closings) close()
    },
  }
}

/** One that fails before it is awaited is nobody's to report until then. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
