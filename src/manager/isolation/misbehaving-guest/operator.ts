/**
 * An operator that does what its CR tells it, however bad: for tests. Before it misbehaves it reads the ConfigMap `begun`,
 * so that a test can tell when it does.
 */
import { defineController } from '../../../operator/controller.ts'
import { type Field, optional, string } from '../../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../../operator/kind/kind.ts'
import { ConfigMap } from '../../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../../operator/operator.ts'
import type { ObjectOf } from '../../../kube/typed-resource.ts'
import type { View } from '../../../operator/view/view.ts'
import { frame } from '../protocol/frame.ts'
import { meddle, print } from './descriptors.ts'

type Spec = { readonly how: Field<string, string, 'defaulted'>; readonly what: Field<string, string, 'optional'> }
type Status = { readonly seen: Field<string, string, 'optional'> }

export const Misbehaving: Kind<Spec, Status> = defineKind<Spec, Status>({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Misbehaving',
  plural: 'misbehavings',
  spec: { how: string({ default: 'nothing' }), what: optional(string()) },
  status: { seen: optional(string()) },
})
export type Misbehaving = ObjectOf<typeof Misbehaving>

interface BehaviourContext {
  readonly cr: Misbehaving
  readonly view: View
}

const never = new Promise<never>(() => undefined)
const kept: unknown[] = []

const behaviours: Readonly<Record<string, (context: BehaviourContext) => unknown>> = {
  nothing: () => 'nothing',
  spin: () => {
    for (;;);
  },
  hang: () => never,
  leak: () => {
    for (;;) kept.push({ weight: [kept.length, kept.length] })
  },
  buffers: () => {
    for (let i = 0; i < 100; i++) kept.push(Buffer.alloc(2 ** 20, 1))
    return never
  },
  exit: () => process.exit(3),
  reject: () => {
    void Promise.reject(new Error('left alone'))
    return never
  },
  throw: () => {
    throw new Error('on purpose')
  },
  freeze: ({ view }) => {
    const found = view.list(ConfigMap)[0] as { data?: unknown } | undefined
    if (found) found.data = {}
  },
  freezeCr: ({ cr }) => {
    ;(cr.metadata as { name: string }).name = 'other'
  },
  // What the kit calls to get on is not what it was.
  waves: () => {
    const generators = Object.getPrototypeOf(async function* none() {}.prototype) as { next: unknown }
    const wave = [{ verb: 'delete', subject: 'x', resource: ConfigMap, name: { name: 'x' }, uid: 'x', why: 'pruned' }]
    generators.next = () => Promise.resolve({ done: false, value: wave })
  },
  huge: () => 'x'.repeat(2 ** 21),
  // Past the kit, straight onto the pipe: only a process has one.
  flood: () => ontoPipe(Buffer.from('ffffffff', 'hex')),
  garble: () => ontoPipe(frame('{"password": hunter2}')),
  chatter: () => ontoPipe(Buffer.concat(Array.from({ length: 2000 }, () => frame('{"say":"pong","count":0}')))),
  forge: () => ontoPipe(frame('{"say":"hello","id":1}')),
  twice: ({ view }) => {
    const read = () => [view.get(ConfigMap, { namespace: 'default', name: 'begun' }), ...view.list(ConfigMap)]
    const [first, second] = [read(), read()]
    return first.length > 1 && first.every((each, at) => each === second[at])
  },
  reads: ({ view }) => {
    for (let i = 0; ; i++) view.get(ConfigMap, { namespace: 'default', name: `n${i}` })
  },
  undeclared: ({ view }) =>
    view.list({ group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }).length,
  meddle: ({ cr }) => meddle(Number(cr.spec.what)),
  print: ({ cr }) => print(cr.spec.what ?? ''),
  snoop: ({ cr }) => snoop(JSON.parse(cr.spec.what ?? '{}') as Target),
}

async function ontoPipe(bytes: Buffer): Promise<never> {
  const { writeSync } = await import('node:fs')
  writeSync(3, bytes)
  return await never
}

interface Target {
  readonly port: number
  readonly file: string
  readonly folder: string
}

/** Tries what it must not; tells what worked. */
async function snoop({ port, file, folder }: Target): Promise<string> {
  const fs = await import('node:fs')
  const net = await import('node:net')
  const attempts: Readonly<Record<string, () => unknown>> = {
    network: () =>
      new Promise((resolve, reject) => void net.connect(port, '127.0.0.1', () => resolve(0)).on('error', reject)),
    fetch: () => fetch(`http://127.0.0.1:${port}/`),
    file: () => fs.readFileSync(file),
    folder: () => fs.readdirSync(folder),
    write: () => fs.writeFileSync(`${folder}/left-behind`, ''),
    program: async () => (await import('node:child_process')).execFileSync('/bin/true'),
    thread: async () => new (await import('node:worker_threads')).Worker('', { eval: true }),
    signal: () => process.kill(process.pid, 0),
    environment: () => fs.readFileSync('/proc/self/environ'),
    flags: async () => (await import('node:v8')).setFlagsFromString('--stack-size=1000'),
    database: () => {
      if (process.getBuiltinModule('node:sqlite') === undefined) throw new Error('absent')
    },
    variables: () => {
      if (Object.keys(process.env).length === 0) throw new Error('empty')
    },
    report: async () => JSON.stringify((await import('node:process')).report.getReport()),
    inspector: async () => {
      const session = new (await import('node:inspector')).Session()
      session.connectToMainThread()
    },
    snapshot: async () => (await import('node:v8')).writeHeapSnapshot(`${folder}/left-behind`),
    module: () => import(`${folder}/kubeconfig`),
    priority: async () => (await import('node:os')).setPriority(0),
  }
  const done: string[] = []
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt()
      done.push(name)
    } catch {
      // As it should be.
    }
  }
  return done.join(' ') || 'nothing'
}

export const operator: Operator = defineOperator({
  name: 'misbehaving',
  controllers: [
    defineController({
      for: Misbehaving,
      writes: [ConfigMap],
      // Only a change makes it try again.
      backOff: { firstMs: 3600_000, mostMs: 3600_000 },
      async reconcile({ cr, view }) {
        view.get(ConfigMap, { namespace: 'default', name: 'begun' })
        const behaviour = Object.hasOwn(behaviours, cr.spec.how) ? behaviours[cr.spec.how] : undefined
        const seen = String(await behaviour?.({ cr, view }))
        const { name } = cr.metadata
        const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name }, data: { seen } }
        return { objects: [made], status: { seen: seen.slice(0, 100) } }
      },
    }),
  ],
})
