/**
 * A program in another language in `muster.yaml`, hosted by two replicas of `muster run` beside operators in
 * TypeScript: it follows changes, is replaced, hangs, misbehaves, and survives the crash of its manager. On the
 * embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { programSandboxProblem } from '../../src/contract/external/program.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'
import { createWaiters, type ProcessEnvironment, openProcessEnvironment } from './process-environment.ts'
import { part, type SizedOperator } from './operators.ts'

const suffix = Math.floor(performance.timeOrigin).toString(36)
const namespace = `programs-${suffix}`
const parts: readonly SizedOperator[] = [part(0, `p${suffix}`), part(1, `p${suffix}`)]
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const shell = fileURLToPath(new URL('../contract/shell-operator.sh', import.meta.url))
const hostile = fileURLToPath(new URL('../contract/hostile-operator.sh', import.meta.url))
const liveOperator = fileURLToPath(new URL('../contract/live-operator.mjs', import.meta.url))
const ServiceAccount: TypedResource = resourceOf('v1', 'ServiceAccount')
const Role: TypedResource = resourceOf('rbac.authorization.k8s.io/v1', 'Role')
const RoleBinding: TypedResource = resourceOf('rbac.authorization.k8s.io/v1', 'RoleBinding')

interface Replica {
  readonly process: ChildProcess
  readonly lines: JsonObject[]
  /** The operators that it has started and not stopped. */
  readonly hosted: Set<string>
}

let environment: ProcessEnvironment
let folder: string
let kubeconfig: string
let client: Client
let original: string
/** Whether this machine supports network isolation. */
let isCut: boolean
/** Every write of the objects here, in order: `answer=3 for us`, `a-0=2`. */
const written: string[] = []
const replicas: Replica[] = []
const waiting = createWaiters()
const { notice } = waiting

const until = (holds: () => boolean, what: string): Promise<void> =>
  waiting.until(holds, () => `${what}; written: ${written.join(', ')}`)

const hasWritten = (...all: readonly string[]): Promise<void> =>
  until(() => all.every((one) => written.includes(one)), all.join())

async function configure(more: JsonObject = {}, others: JsonObject = {}): Promise<void> {
  const lease = { leaseDuration: '3s', renewDeadline: '2s', retryPeriod: '500ms' }
  const module = path.join(folder, 'operators.ts')
  // The programs that its script starts, besides those of the system.
  const readable = [process.execPath, './innocent.sh']
  const value = {
    sharding: { enabled: true, group: namespace, namespace, ...lease },
    health: { port: 0 },
    metrics: { port: 0 },
    operators: {
      ...Object.fromEntries(parts.map(({ name }, index) => [name, { from: `${module}#part${index}` }])),
      shell: {
        program: {
          command: './shell.sh',
          readable,
          env: { WHO: 'us', NODE: process.execPath },
          timeout: '3s',
          ...more,
        },
        allowUnenforced: !isCut,
      },
      ...others,
    },
  }
  await writeFile(path.join(folder, 'muster.yaml'), JSON.stringify(value, undefined, 2))
}

/** Replaces the program with another version. */
async function replaceProgram(change: (text: string) => string): Promise<void> {
  const file = path.join(folder, 'shell.sh')
  await writeFile(`${file}.new`, change(original), { mode: 0o755 })
  await rename(`${file}.new`, file)
}

const hanging = (text: string): string => text.replace('set -eu', 'set -eu\nHOSTILE=hang')

function replica(): Replica {
  const words = ['--conditions=muster-source', main, 'run', '--file', 'muster.yaml', '--kubeconfig', kubeconfig]
  // A killed manager leaves the input directories of its programs.
  const env = { ...process.env, TMPDIR: folder }
  const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const one: Replica = { process: child, lines: [], hosted: new Set() }
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : { text }
    one.lines.push(line)
    if (line['msg'] === 'Operator started') one.hosted.add(line['operator'] as string)
    if (line['msg'] === 'Operator stopped') one.hosted.delete(line['operator'] as string)
    notice()
  })
  replicas.push(one)
  return one
}

const told = (): readonly JsonObject[] => replicas.flatMap(({ lines }) => lines)
const answers = (): readonly string[] => written.filter((one) => one.startsWith('answer'))
const hasTold = (text: string): Promise<void> =>
  until(() => told().some((line) => JSON.stringify(line).includes(text)), `somebody says ${text}`)

async function wish(size: number | string): Promise<void> {
  const metadata = { name: 'wish', namespace, labels: { answer: 'wanted' } }
  await client.apply(
    ConfigMap,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: String(size) } },
    { fieldManager: 'person', force: true },
  )
}

const resize = (size: number): Promise<unknown> =>
  Promise.all(
    parts.map(({ own }) => client.patch(own, { name: 'a', namespace }, { spec: { size } }, { type: 'merge' })),
  )

beforeAll(async () => {
  isCut = (await programSandboxProblem(systemClock)) === undefined
  environment = await openProcessEnvironment(namespace, parts)
  ;({ folder, kubeconfig, client } = environment)
  const exports = parts.map((_, index) => `export const part${index} = part(${index}, 'p${suffix}')\n`)
  await writeFile(path.join(folder, 'operators.ts'), `import { part } from './parts.ts'\n${exports.join('')}`)
  original = (await readFile(shell, 'utf8')).replaceAll('shop', namespace)
  await writeFile(path.join(folder, 'innocent.sh'), original, { mode: 0o755 })
  await replaceProgram((text) => text)
  for (const { own } of parts) {
    await client.create(own, own.draft({ name: 'a', namespace }, {}) as unknown as UntypedObject)
  }
  await wish(1)
  await configure()
  environment.follow(({ metadata: { name, ownerReferences }, data = {} }) => {
    const { size, amount, for: whom, network, as, cluster, elsewhere } = data
    if (name === 'answer') written.push(`answer=${amount} for ${whom}${network === undefined ? '' : `, ${network}`}`)
    else if (name === 'live') written.push(`live=${cluster} as ${as}, ${elsewhere}`)
    else if (ownerReferences) written.push(`${name}=${size}`)
    notice()
  })
}, 60_000)

afterAll(async () => {
  for (const { process: child } of replicas) child.kill('SIGKILL')
  await environment.close()
}, 60_000)

describe('a program in muster.yaml', { timeout: 60_000 }, () => {
  it('is hosted beside operators in TypeScript by one of two replicas, and follows changes', async () => {
    const [one, other] = [replica(), replica()]
    await hasWritten('answer=1 for us', 'a-0=1', 'a-1=1')
    await until(() => one.hosted.size + other.hosted.size === 3, 'each operator is hosted once')
    await wish(2)
    await hasWritten('answer=2 for us')
    expect(answers()).toEqual(['answer=1 for us', 'answer=2 for us'])
  })

  it('is reconfigured and replaced while the others keep running', async () => {
    await replaceProgram((text) => text.replace('for: ${WHO:-nobody}', 'for: ${WHO:-nobody} anew'))
    await hasWritten('answer=2 for us anew')
    await hasTold('Operator program replaced')
    await replaceProgram((text) => text)
    await configure({ env: { WHO: 'them', NODE: process.execPath } })
    await hasWritten('answer=2 for them')
    // Values of an environment may be secret.
    expect(JSON.stringify(told())).not.toContain('them')
  })

  it('has no network where the sandbox is available', async () => {
    const [, port] = /server: .*:(\d+)/.exec(await readFile(kubeconfig, 'utf8')) ?? []
    const probe = `"$NODE" -e 'require("node:net").connect(${port}, "127.0.0.1").on("connect", () => { console.log("reached"); process.exit() }).on("error", () => console.log("cut"))'`
    await replaceProgram((text) => text.replace('  amount:', `  network: $(${probe})\n  amount:`))
    await until(() => answers().at(-1)!.includes(', '), 'it has tried')
    expect(answers().at(-1)).toBe(`answer=2 for them, ${isCut ? 'cut' : 'reached'}`)
  })

  it('in live mode reaches the user-workload cluster as its own account, and no unlisted origin', async () => {
    const account = { name: 'live', namespace }
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'live' }
    await client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account })
    await client.create(Role, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: account,
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
    })
    await client.create(RoleBinding, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: account,
      roleRef: role,
      subjects: [{ kind: 'ServiceAccount', ...account }],
    })
    const live = {
      program: { command: process.execPath, args: [liveOperator], env: { NAMESPACE: namespace }, live: true },
      identity: { serviceAccount: `${namespace}/live` },
    }
    await configure({ env: { WHO: 'them', NODE: process.execPath } }, { live })
    // Without the sandbox there is no proxy.
    if (isCut) await until(() => written.some((one) => one.startsWith('live')), 'it has been outside')
    const lively = isCut ? [`live=200 as system:serviceaccount:${namespace}:live, 403`] : []
    expect(written.filter((one) => one.startsWith('live'))).toEqual(lively)
    await hasTold(isCut ? 'live tried to reach elsewhere.example.com:443' : 'allowUnenforced: true')
    await configure({ env: { WHO: 'them', NODE: process.execPath } })
  })

  it('is killed when it hangs, while the others keep running', async () => {
    await replaceProgram(hanging)
    await hasTold('it did not end within 3000 ms')
    await resize(3)
    await hasWritten('a-0=3', 'a-1=3')
    expect(replicas.map(({ process: child }) => child.exitCode)).toEqual([null, null])
  })

  it('with hostile output has nothing applied and gets a finding', async () => {
    const before = answers()
    const gone = (await readFile(hostile, 'utf8')).replaceAll('shop', namespace)
    // From now on its ConfigMap selects the additional output.
    const cases = [
      ['escaping-name', 'refusedOutput', 'bad-body-x.yaml: its name \\"../../../secrets/other\\" must not contain'],
      ['escaping-subresource', 'refusedOutput', 'bad-body-x.yaml: \\"../../secrets/other\\" is no subresource'],
      ['link', 'refusedOutput', 'Configuration/link.yaml is neither a file nor a folder'],
      ['bomb-in-results', 'refusedOutput', 'controller-results.yaml: its aliases stand for too many values'],
      ['large-body', 'refusedOutput', 'bad-body-x.yaml is larger than 3145728 bytes'],
      ['other-kind', 'refusedOutput', 'bad-body-x.yaml holds a Secret, and configmaps are of kind ConfigMap'],
      // An operator of this configuration has that name.
      ['other-manager', 'refusedOutput', `bad-body-x.yaml: it would be written as \\"${parts[0]!.name}\\"`],
      ['other-name', 'undeclaredWrite', `Apply-ConfigMap.v1./kube-root-ca.crt[${namespace}] is not among`],
    ] as const
    await wish(cases[0][0])
    await replaceProgram(() =>
      gone.replace('set -eu', 'set -eu\nOPERATOR=./innocent.sh').replaceAll('neighbour', parts[0]!.name),
    )
    for (const [how, kind, why] of cases) {
      await wish(how)
      await until(
        () =>
          told()
            .map((line) => JSON.stringify(line))
            .some((line) => line.includes(kind) && line.includes(why)),
        `${how} is found`,
      )
    }
    expect(answers()).toEqual(before)
    await wish(3)
    await hasWritten('answer=3 for them')
    await replaceProgram((text) => text)
    // The valid parts were not applied later either.
    expect(answers()).toEqual([...before, 'answer=3 for them'])
  })

  it('continues when its manager is killed, without lost or duplicate writes', async () => {
    const at = answers().length
    const owner = replicas.find(({ hosted }) => hosted.has('shell'))!
    const other = replicas.find((one) => one !== owner)!
    await wish(4)
    await hasWritten('answer=4 for them')
    await wish(5)
    owner.process.kill('SIGKILL')
    await hasWritten('answer=5 for them')
    await until(() => other.hosted.size === 3, 'the other has all of them')
    await wish(6)
    await hasWritten('answer=6 for them')
    expect(answers().slice(at)).toEqual(['answer=4 for them', 'answer=5 for them', 'answer=6 for them'])
  })

  it('is paused and removed by the configuration, and ends with its manager', async () => {
    const last = replicas.find(({ process: child }) => child.exitCode === null && child.signalCode === null)!
    const text = await readFile(path.join(folder, 'muster.yaml'), 'utf8')
    await writeFile(path.join(folder, 'muster.yaml'), text.replace('"shell": {', '"shell": { "paused": true,'))
    await until(() => last.lines.some((line) => line['setting'] === 'operators.shell.paused'), 'it is paused')
    await wish(7)
    await resize(4)
    await hasWritten('a-0=4', 'a-1=4')
    expect(written).not.toContain('answer=7 for them')
    await writeFile(path.join(folder, 'muster.yaml'), text)
    await hasWritten('answer=7 for them')
    await writeFile(path.join(folder, 'muster.yaml'), text.replace('"shell": {', '"shell": { "enabled": false,'))
    await until(() => !last.hosted.has('shell'), 'it has ended')
    await writeFile(path.join(folder, 'muster.yaml'), text)
    await until(() => last.hosted.has('shell'), 'it is back')
    last.process.kill('SIGTERM')
    const [code] = (await once(last.process, 'exit')) as [number | null]
    expect(code).toBe(0)
  })
})
