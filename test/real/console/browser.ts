/**
 * A real browser, driven over its DevTools protocol: a page is opened, asked, typed at and photographed; what it complains
 * about is kept. Node's own WebSocket is enough for that.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { realChromium } from '../../../scripts/real-chromium.ts'

export interface Page {
  /** What a script in the page comes to. */
  evaluate(script: string): Promise<unknown>
  /** Resolves when a script comes to something true, looked at with each frame. */
  until(script: string): Promise<void>
  /** The visible text. */
  text(): Promise<string>
  press(key: string): Promise<void>
  /** Only the page that was opened or brought there last is seen. */
  bringToFront(): Promise<void>
  resize(width: number, height: number, scheme?: 'light' | 'dark'): Promise<void>
  /** As PNG. */
  photograph(): Promise<Buffer>
  /** Errors, refused requests and what the content security policy refused. */
  readonly complaints: readonly string[]
}

export interface Browser {
  open(url: string): Promise<Page>
  close(): Promise<void>
}

const flags =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars --remote-debugging-port=0 ' +
  '--disable-background-networking --disable-component-update --disable-sync'

interface Message {
  readonly id?: number
  readonly sessionId?: string
  readonly method?: string
  readonly params?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string }
}

export async function startBrowser(): Promise<Browser> {
  const { program, environment } = await realChromium()
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-browser-'))
  const child = spawn(program, [...flags.split(' '), `--user-data-dir=${folder}`, 'about:blank'], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'close')
  const said: string[] = []
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line)
      const [, url] = /^DevTools listening on (ws:\S+)/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(`${program} has ended: ${said.join('\n')}`)))
  })
  const socket = new WebSocket(address)
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  const answers = new Map<number, (answer: Message) => void>()
  const listeners = new Set<(message: Message) => void>()
  let count = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id === undefined) for (const listener of listeners) listener(message)
    else answers.get(message.id)?.(message)
  })
  const send = async (method: string, params: object = {}, sessionId?: string): Promise<Message['result'] & {}> => {
    const id = ++count
    const answered = new Promise<Message>((resolve) => answers.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    const { result, error } = await answered
    answers.delete(id)
    if (error) throw new Error(`${method}: ${error.message}`)
    return result ?? {}
  }

  return {
    async open(url) {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
      const attached = await send('Target.attachToTarget', { targetId, flatten: true })
      const sessionId = attached['sessionId'] as string
      const ask = (method: string, params: object = {}): ReturnType<typeof send> => send(method, params, sessionId)
      const complaints: string[] = []
      listeners.add((message) => {
        if (message.sessionId !== sessionId) return
        const complaint = complaintIn(message)
        if (complaint !== undefined) complaints.push(complaint)
      })
      const evaluate = async (expression: string): Promise<unknown> => {
        const answer = await ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
        if (answer['exceptionDetails']) throw new Error(JSON.stringify(answer['exceptionDetails']))
        return (answer['result'] as { readonly value?: unknown }).value
      }
      for (const domain of ['Page', 'Runtime', 'Log', 'Audits']) await ask(`${domain}.enable`)
      const loaded = new Promise<void>((resolve) => {
        listeners.add(({ sessionId: of, method }) => {
          if (of === sessionId && method === 'Page.loadEventFired') resolve()
        })
      })
      await ask('Page.navigate', { url })
      await loaded
      return {
        evaluate,
        async until(script) {
          await evaluate(`new Promise((resolve) => {
            const look = () => ${script} ? resolve() : requestAnimationFrame(look)
            look()
          })`)
        },
        text: async () => (await evaluate('document.body.innerText')) as string,
        async press(key) {
          const text = key.length === 1 ? { text: key } : {}
          const enter = key === 'Enter' ? { text: '\r', windowsVirtualKeyCode: 13 } : {}
          await ask('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text, ...enter })
          await ask('Input.dispatchKeyEvent', { type: 'keyUp', key })
        },
        async bringToFront() {
          await ask('Page.bringToFront')
        },
        async resize(width, height, scheme = 'light') {
          await ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
          const features = [{ name: 'prefers-color-scheme', value: scheme }]
          await ask('Emulation.setEmulatedMedia', { features })
        },
        async photograph() {
          const { data } = await ask('Page.captureScreenshot', { format: 'png' })
          return Buffer.from(data as string, 'base64')
        },
        complaints,
      }
    },
    async close() {
      socket.close()
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

function complaintIn({ method, params }: Message): string | undefined {
  const told = JSON.stringify(params)
  if (method === 'Runtime.exceptionThrown' || method === 'Audits.issueAdded') return told
  if (method === 'Log.entryAdded' && /"level":"(?:error|warning)"/.test(told)) return told
  if (method === 'Runtime.consoleAPICalled' && /^\{"type":"(?:error|warning|assert)"/.test(told)) return told
  return undefined
}
