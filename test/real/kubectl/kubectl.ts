/**
 * The stock kubectl as a test peer. A script is a list of commands; its transcript is what a person at a terminal would
 * have seen. The same script goes to the embedded server and to the real one, and both transcripts must be equal, but
 * for what differs from run to run: times, ages, uids, versions, addresses, tokens.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realKubectl } from '../../../scripts/real-binaries.ts'
import type { PemPair } from '../../certificates.ts'

export interface Target {
  readonly server: string
  readonly ca: string
  readonly admin: PemPair
}

export interface Command {
  /** As one would type it, without `kubectl`; single quotes keep words together. */
  readonly run: string
  readonly stdin?: string
  /** A shell command that `kubectl edit` opens the file with. */
  readonly editor?: string
  /**
   * Commands to run while this one goes on (`get -w`); it is ended when its output holds `until`. One that does not
   * get there in ten seconds is ended too, and its transcript shows what it had seen.
   */
  readonly meanwhile?: readonly Step[]
  readonly until?: string
  /** Lines to leave out: what others put on the same server. */
  readonly without?: RegExp
}

export type Step = string | Command

export interface Kubectl {
  /** What is seen when these commands are run, one entry a command. */
  transcript(steps: readonly Step[]): Promise<readonly string[]>
  close(): Promise<void>
}

export async function kubectlFor(target: Target): Promise<Kubectl> {
  const program = await realKubectl()
  const home = await mkdtemp(join(tmpdir(), 'muster-kubectl-'))
  const kubeconfig = join(home, 'config')
  await writeFile(kubeconfig, kubeconfigOf(target), { mode: 0o600 })
  const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: home, KUBECONFIG: kubeconfig, KUBECTL_KUBERC: 'false' }

  const start = (step: Command): Running => {
    const editor = step.editor === undefined ? {} : { KUBE_EDITOR: step.editor }
    return run(program, words(step.run), { ...env, ...editor }, step.stdin)
  }
  const transcript: Kubectl['transcript'] = async (steps) => {
    const seen: string[] = []
    for (const one of steps) {
      const step = typeof one === 'string' ? { run: one } : one
      const running = start(step)
      if (step.meanwhile) {
        await running.seen('')
        const inner = await transcript(step.meanwhile)
        await running.seen(step.until ?? '')
        running.stop()
        const { out } = await running.ended
        seen.push(...inner, masked(`$ kubectl ${step.run}\n${out}`, target))
      } else {
        const { code, out, complaint } = await running.ended
        const end = code === 0 ? '' : `[${code}]\n`
        const shown = inOrder(out)
          .split('\n')
          .filter((line) => !step.without?.test(line))
        seen.push(masked(`$ kubectl ${step.run}\n${shown.join('\n')}${complaint}${end}`, target))
      }
    }
    return seen
  }
  return { transcript, close: () => rm(home, { recursive: true, force: true }) }
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly complaint: string
}

interface Running {
  readonly ended: Promise<Ended>
  /** Resolves when the output holds this text (any text at all where it is empty), or in ten seconds. */
  seen(text: string): Promise<void>
  stop(): void
}

function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stdin = '',
): Running {
  const child = spawn(program, args, { env })
  const [out, complaint] = [[] as string[], [] as string[]]
  let changed = Promise.withResolvers<void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out.push(text)
    changed.resolve()
    changed = Promise.withResolvers()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => complaint.push(text))
  child.stdin.on('error', () => undefined)
  child.stdin.end(stdin)
  const ended = Promise.withResolvers<Ended>()
  child.once('error', ended.reject)
  child.once('close', (code) => ended.resolve({ code, out: out.join(''), complaint: complaint.join('') }))
  // Nothing here takes as long; what hangs shows as ended by a signal.
  const patience = setTimeout(() => child.kill('SIGKILL'), 45_000)
  return {
    ended: ended.promise.finally(() => clearTimeout(patience)),
    async seen(text) {
      const deadline = AbortSignal.timeout(10_000)
      const late = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()))
      const isThere = (): boolean => out.length > 0 && out.join('').includes(text)
      const isOver = ended.promise.then(() => true)
      while (!isThere() && !deadline.aborted) if (await Promise.race([changed.promise, late, isOver])) return
    },
    stop: () => void child.kill('SIGINT'),
  }
}

/** JSON with its members sorted: their order means nothing. Neither does that of writers within a second. */
function inOrder(out: string): string {
  if (!out.startsWith('{')) return out
  const writer = ({ manager = '', subresource = '', operation = '' }: Record<string, string>): string =>
    `${manager} ${operation} ${subresource}`
  const sorted = (key: string, value: unknown): unknown => {
    if (key === 'managedFields' && Array.isArray(value))
      return (value as Record<string, string>[]).toSorted((a, b) => (writer(a) < writer(b) ? -1 : 1))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }
  try {
    return `${JSON.stringify(JSON.parse(out, sorted), undefined, 1)}\n`
  } catch {
    return out
  }
}

/** Words as a shell would part them; single quotes only. */
export function words(line: string): readonly string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
}

const masks: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME'],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}(?: \w+)?(?: m=\S+)?/g, 'TIME'],
  [/(resource ?version\\?["']?:\s*)\\?"?'?\d+\\?"?'?/gi, '$1VERSION'],
  [/:3[0-2]\d{3}\/(?=TCP|UDP)/g, ':PORT/'],
  [/(nodePort["']?:\s*)\d+/g, '$1PORT'],
  // The API does not guarantee values in Go's debug format: see docs/embedded-limits.md.
  [/expected string, got .*$/gm, 'expected string'],
  // The embedded server says what it is.
  [/\+muster\b/g, ''],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
  [/\b[0-9a-f]{64}\b/g, 'HASH'],
  [/\b10\.\d+\.\d+\.\d+\b/g, 'IP'],
  [/(?<=\s)(?:\d+[dhms]){1,2}(?=\s|$)/gm, 'AGE'],
  [/[IWE]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ (\w+\.go):\d+\]/g, 'LOG $1]'],
  [/\/tmp\/[\w-]+\/?[\w.-]*/g, 'FILE'],
  [/ {2,}/g, '  '],
  [/ +$/gm, ''],
  // A controller of the real server that now and then comes upon a Service before its own allocation has reached it.
  [
    /^Events:\n.*\n.*\n +Warning {2}ClusterIPNotAllocated {2}AGE {2}ipallocator-repair-controller.*$/gm,
    'Events:  <none>',
  ],
]

function masked(given: string, { server }: Target): string {
  const host = server.replace('https://', '')
  const text = given.replaceAll(/^\{\n[\s\S]*?^\}$/gm, ownersInOrder)
  const local = text.replaceAll(server, 'SERVER').replaceAll(host, 'HOST')
  return masks.reduce((current, [pattern, word]) => current.replaceAll(pattern, word), local)
}

/** Who owns what is listed by the second in which it was written, and the two servers are not written to in the same. */
function ownersInOrder(text: string): string {
  interface Owned {
    readonly metadata?: { managedFields?: readonly Readonly<Record<string, string>>[] }
  }
  let object: Owned
  try {
    object = JSON.parse(text) as Owned
  } catch {
    return text
  }
  const { metadata } = object
  if (!metadata?.managedFields) return text
  const nameOf = ({ manager, operation, subresource = '' }: Readonly<Record<string, string>>): string =>
    [manager, operation, subresource].join(' ')
  metadata.managedFields = metadata.managedFields.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  return JSON.stringify(object, undefined, 4)
}

function kubeconfigOf({ server, ca, admin }: Target): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'here', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [
      {
        name: 'admin',
        user: { 'client-certificate-data': base64(admin.cert), 'client-key-data': base64(admin.key) },
      },
    ],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'admin', namespace: 'default' } }],
  })
}
