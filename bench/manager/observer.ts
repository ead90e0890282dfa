/**
 * The observer: a minimal HTTP/2 client that watches the writes of the operators and makes the changes that trigger
 * them. It has one connection for its watches, so that events of CRs and ConfigMaps take the same path, and another one
 * for its writes.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Access } from '../../test/real/cluster.ts'

export interface Observer {
  /** The text of a 2xx response; any other status throws. */
  send(method: string, path: string, body?: unknown, type?: string): Promise<string>
  /** Calls `onLine` with each line of a watch until it is closed; a watch that ends earlier is resumed. */
  follow(path: string, onLine: (line: string) => void): Promise<() => void>
  close(): void
}

/** Identifies requests that are not counted. */
export const observerAgent = 'bench-observer'

/** A window as large as that of Go's clients: a server ends the watches of slow clients. */
function openSession({ server, ca }: Access): ClientHttp2Session {
  const session = connect(server, { ca, settings: { initialWindowSize: 4 << 20 } })
  // Pending requests receive the error.
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
  // A server closes an idle connection after some minutes.
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
        // A server ends the watches of slow clients, and may be the slow one itself.
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

/** `count` requests, so many concurrently. */
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

/** A change without a reaction within this time is lost. */
const longestMs = 60_000

/** Changes of the CRs of one kind. Each resolves with the milliseconds from event to write. */
export interface Changes {
  /** One change, followed by its write; it ends when the CR reports it too, so that no work is left. */
  one(): Promise<number>
  /** So many a second, whether or not the operator keeps up. */
  steadily(count: number, perSecond: number): Promise<readonly number[]>
}

export interface OpenChanges {
  /** In the order of their kinds. */
  readonly of: readonly Changes[]
  close(): void
}

interface Line {
  readonly type: string
  readonly object: {
    readonly metadata: { readonly name: string; readonly generation?: number }
    readonly spec?: { readonly value: string }
    readonly status?: { readonly observedGeneration?: number }
    readonly data?: { readonly value?: string }
  }
}

/** A change that no ConfigMap shows yet. */
interface Open {
  readonly value: number
  readonly done: (ms: number) => void
}

/**
 * Changes of CRs, timed from the watch event of the changed CR to the watch event of the resulting ConfigMap: the time
 * the server needs to store the change is excluded. A ConfigMap that skips a change has answered it. `kinds`: paths of
 * CRs and their names; one watch of ConfigMaps follows all of them.
 */
export async function openChanges(
  observer: Observer,
  configMaps: string,
  kinds: readonly { readonly widgets: string; readonly names: readonly string[] }[],
): Promise<OpenChanges> {
  const seenAt = new Map<number, number>()
  /** For each CR, oldest first. */
  const open = new Map<string, Open[]>(kinds.flatMap(({ names }) => names.map((name) => [name, []])))
  /** The last reported value of each CR, and the waiter for the next. */
  const reported = new Map<string, number>()
  const waiting = new Map<string, () => void>()
  // Higher than any earlier value of any side.
  let latest = Math.ceil(performance.now())

  const sawWidget = (line: string): void => {
    const { object } = JSON.parse(line) as Line
    const { name, generation } = object.metadata
    const value = Number(object.spec?.value)
    if (!seenAt.has(value)) seenAt.set(value, performance.now())
    if (object.status?.observedGeneration !== generation) return
    reported.set(name, value)
    waiting.get(name)?.()
  }

  const sawConfigMap = (line: string): void => {
    const now = performance.now()
    const { object } = JSON.parse(line) as Line
    const unseen = open.get(object.metadata.name)
    for (let first = unseen?.[0]; first && Number(object.data?.value) >= first.value; first = unseen?.[0]) {
      unseen?.shift()
      // The two watches come from two caches of the server: the later event may arrive first.
      first.done(Math.max(now - (seenAt.get(first.value) ?? now), 0))
    }
  }

  const closings = await Promise.all([
    observer.follow(`${configMaps}?watch=true`, sawConfigMap),
    ...kinds.map(({ widgets }) => observer.follow(`${widgets}?watch=true`, sawWidget)),
  ])
  // The initial objects arrive before the first change.
  await sleep(500)

  const changesOf = (widgets: string, names: readonly string[]): Changes => {
    /** The changes of one CR in the order of their values: an overtaken one would never be observed. */
    const sent = new Map<string, Promise<unknown>>()
    const inTurn = async (name: string, value: number): Promise<void> => {
      const before = sent.get(name)
      const send = async (): Promise<void> => {
        await before
        const body = { spec: { value: String(value) } }
        await observer.send('PATCH', `${widgets}/${name}`, body, 'application/merge-patch+json')
      }
      const sending = send()
      sent.set(name, sending)
      await sending
    }

    const inTime = async <T>(effect: Promise<T>, name: string, value: number): Promise<T> => {
      const { promise: late, reject } = Promise.withResolvers<never>()
      const fail = async (): Promise<void> => {
        const [widget, configMap] = await Promise.all([
          observer.send('GET', `${widgets}/${name}`),
          observer.send('GET', `${configMaps}/${name}`),
        ])
        reject(new Error(`change ${value} of ${name} has no effect: ${widget} ${configMap}`))
      }
      const timer = setTimeout(() => void fail().catch(reject), longestMs)
      try {
        return await Promise.race([effect, late])
      } finally {
        clearTimeout(timer)
      }
    }

    const next = (): { readonly name: string; readonly value: number } => {
      const value = ++latest
      return { name: names[value % names.length]!, value }
    }

    const change = async (name: string, value: number): Promise<number> => {
      const { promise, resolve } = Promise.withResolvers<number>()
      open.get(name)!.push({ value, done: resolve })
      await inTurn(name, value)
      return await promise
    }

    const report = async (name: string, value: number): Promise<void> => {
      while (reported.get(name) !== value) await new Promise<void>((resolve) => waiting.set(name, resolve))
      waiting.delete(name)
    }

    return {
      async one() {
        const { name, value } = next()
        const ms = await inTime(change(name, value), name, value)
        await inTime(report(name, value), name, value)
        return ms
      },
      async steadily(count, perSecond) {
        const begun = performance.now()
        const under: Promise<number>[] = []
        while (under.length < count) {
          const due = Math.min(Math.floor(((performance.now() - begun) / 1000) * perSecond), count)
          while (under.length < due) {
            const { name, value } = next()
            under.push(awaitedLater(inTime(change(name, value), name, value)))
          }
          await sleep(1)
        }
        return await Promise.all(under)
      },
    }
  }
  return {
    of: kinds.map(({ widgets, names }) => changesOf(widgets, names)),
    close() {
      for (const close of closings) close()
    },
  }
}

/** An error before it is awaited must not be an unhandled rejection. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
