/** Each rule can fail: for each there is an operator that breaks it, and no other. */
import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { database, databaseStaging } from '../../../test/examples.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { anything, integer, optional } from '../../operator/kind/field.ts'
import { giveUp } from '../../operator/failure.ts'
import type { Live } from '../../operator/live.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap, Role, Secret, Service, ServiceAccount } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent, type DependentOverlay } from '../../operator/dependent/dependent.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { rules, scorecard } from './scorecard.ts'
import { formatSummary } from './table.ts'

const Thing = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  spec: { size: integer({ minimum: 0, default: 1 }) },
  status: { hour: optional(integer()) },
})
type Thing = ObjectOf<typeof Thing>
type Options = Parameters<typeof defineController<Thing>>[0]
type ResourceOptions = Parameters<typeof defineDependent<Thing, ConfigMap>>[0]

function operatorOf(options: Omit<Options, 'for'>): Operator {
  return defineOperator({ name: 'examined', controllers: [defineController<Thing>({ for: Thing, ...options })] })
}

function config(options: Omit<ResourceOptions, 'for' | 'kind'>): ReturnType<typeof defineDependent<Thing, ConfigMap>> {
  return defineDependent<Thing, ConfigMap>({ for: Thing, kind: ConfigMap, ...options })
}

const sized = config({ fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }) })
const sample = ({ cr }: { readonly cr: Thing }) => ({ namespace: cr.metadata.namespace, name: cr.metadata.name })

function configMap(cr: Thing, data: Readonly<Record<string, string>>): UntypedObject {
  const { namespace = '', name } = cr.metadata
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data }
}

/** Enough for one that writes every hour. */
const restMs = 2 * 3600_000

let loads = 0

/** By the rule that they break. Each is loaded anew for every process, as the command line does. */
const broken: Readonly<Record<string, () => Operator>> = {
  validates() {
    const Loose = defineKind({
      group: 'example.com',
      version: 'v1',
      kind: 'Loose',
      spec: { free: optional(anything()) },
    })
    type Loose = ObjectOf<typeof Loose>
    const data = defineDependent<Loose, ConfigMap>({ for: Loose, kind: ConfigMap, initial: { data: { a: 'b' } } })
    return defineOperator({
      name: 'examined',
      controllers: [defineController<Loose>({ for: Loose, dependents: [data] })],
    })
  },
  'reports status': () =>
    operatorOf({
      dependents: [sized],
      status: () => ({ conditions: [{ type: 'Ready', status: 'False', reason: 'Never', message: 'Not today.' }] }),
    }),
  // Which comes first is up to chance.
  idempotent() {
    const [one, other] = ['one', 'other'].map((id) => config({ id, name: () => id, initial: { data: { id } } })) as [
      ReturnType<typeof config>,
      ReturnType<typeof config>,
    ]
    return operatorOf({ dependents: loads++ % 2 ? [one, other] : [other, one] })
  },
  'quiet at rest': () =>
    operatorOf({
      writes: [ConfigMap],
      reconcile: ({ cr, now }) => ({
        objects: [configMap(cr, { size: String(cr.spec.size) })],
        status: { hour: Math.floor(now / 3600_000) },
        requeueAfterMs: 3600_000,
      }),
    }),
  // Takes the live value for the desired one.
  'restores drift': () =>
    operatorOf({
      dependents: [
        config({
          fromCR: (at) => ({
            data: { size: at.view.get(ConfigMap, sample(at))?.data?.['size'] ?? String(at.cr.spec.size) },
          }),
        }),
      ],
    }),
  // Recreates a ConfigMap to which another field manager has added a label.
  'keeps foreign fields': () =>
    operatorOf({
      dependents: [
        config({
          initial: { metadata: { labels: { ours: 'yes' } } },
          activeWhen: (at) => Object.keys(at.view.get(ConfigMap, sample(at))?.metadata.labels ?? {}).length <= 2,
        }),
      ],
    }),
  // Never gets over a size that it does not like.
  'follows its CR'() {
    let isSulking = false
    return operatorOf({
      dependents: [sized],
      check({ cr }) {
        isSulking ||= cr.spec.size > 1
        if (isSulking) giveUp('TooMuch', 'It was too much once.')
      },
    })
  },
  finalizes: () => operatorOf({ dependents: [sized], finalize: () => ({ waitingFor: 'a better world' }) }),
  // Keeps in its head what it has done.
  'survives a restart'() {
    let isFirst = true
    return operatorOf({
      writes: [ConfigMap],
      reconcile({ cr }) {
        const phase = isFirst ? 'installing' : 'installed'
        const again = isFirst
        isFirst = false
        return { objects: [configMap(cr, { phase })], ...(again && { requeueAfterMs: 1 }) }
      },
    })
  },
  // The second is made only together with the first.
  'survives a crash'() {
    const first = config({ id: 'first', name: () => 'first', initial: { data: { is: 'first' } } })
    const second = config({
      id: 'second',
      name: () => 'second',
      initial: { data: { is: 'second' } },
      activeWhen({ view, cr }) {
        const has = (name: string): boolean => view.get(ConfigMap, { ...sample({ cr }), name }) !== undefined
        return has('second') || !has('first')
      },
    })
    return operatorOf({ dependents: [first, second], reads: [ConfigMap] })
  },
  // RBAC lets no user grant permissions that the user does not have.
  'least access': () =>
    operatorOf({
      dependents: [
        defineDependent<Thing, Role>({
          for: Thing,
          kind: Role,
          initial: { rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['delete'] }] },
        }),
      ],
    }),
}

describe('scorecard', () => {
  it('passes a correct operator, without skipped rules', async () => {
    const { lines, passed, level } = await scorecard({
      workloads: false,
      load: () => operatorOf({ dependents: [sized], finalize: () => 'done' }),
    })
    expect(lines.filter(({ result }) => result !== 'passed' && result !== 'warned')).toEqual([])
    expect(passed).toBe(true)
    expect(level.level).toBe(2)
  }, 60_000)

  it('passes one with free-style objects in another namespace', async () => {
    const load = (): Operator =>
      operatorOf({
        writes: [ConfigMap],
        reconcile: ({ cr }) => {
          const made = configMap(cr, { size: String(cr.spec.size) })
          return { objects: [{ ...made, metadata: { name: 'elsewhere', namespace: 'kube-public' } }] }
        },
      })
    const { lines } = await scorecard({ load, workloads: false, restMs })
    expect(lines.filter(({ result }) => result !== 'passed' && result !== 'warned')).toEqual([])
  }, 60_000)

  it('passes one with allocated addresses and random values', async () => {
    const service = defineDependent<Thing, Service>({
      for: Thing,
      kind: Service,
      initial: { spec: { type: 'NodePort', selector: { app: 'a' }, ports: [{ name: 'web', port: 80 }] } },
    })
    const password = defineDependent<Thing, Secret>({
      for: Thing,
      kind: Secret,
      policy: 'create-only',
      initial: () => ({ metadata: { labels: { app: 'a' } }, stringData: { password: randomBytes(8).toString('hex') } }),
    })
    const drawn = config({
      fromCR: (at) => ({ data: { id: at.view.get(ConfigMap, sample(at))?.data?.['id'] ?? randomUUID(), empty: '' } }),
    })
    const card = await scorecard({
      load: () => operatorOf({ dependents: [service, password, drawn] }),
      workloads: false,
      restMs,
    })
    expect(card.lines.filter(({ result }) => result !== 'passed' && result !== 'warned')).toEqual([])
    expect(card.lines.find(({ rule }) => rule === 'restores drift')?.evidence).toMatch(/1 other drawn once/)
    expect(card.level.level).toBe(2)
  }, 60_000)

  it('passes the database example with its application, and reports undecidable rules without it', async () => {
    const { sample: objects, outside } = await databaseStaging()
    const examined = { load: () => database, sample: objects, restMs: 600_000 }
    const card = await scorecard({ ...examined, live: (world) => outside(undefined, world).live })
    expect(card.lines.filter(({ result }) => result !== 'passed' && result !== 'warned')).toEqual([])
    expect(card.level).toMatchObject({ level: 3 })
    const alone = await scorecard({ ...examined, workloads: false })
    expect(alone).toMatchObject({ passed: true, level: { level: 0, name: 'unknown' } })
    expect(alone.lines.filter(({ result }) => result === 'skipped').map(({ rule }) => rule)).toContain('reports status')
    expect(formatSummary(alone).join(' ')).toContain('--live')
  }, 60_000)

  /** What it does not see of its own fields, by what another actor does to them. */
  const blind: Readonly<Record<string, (live: ServiceAccount | undefined) => DependentOverlay<ServiceAccount>>> = {
    // Absent is as good as false.
    removed: (live) =>
      live && live.automountServiceAccountToken === undefined ? {} : { automountServiceAccountToken: false },
    // An empty name is as good as its own.
    emptied: (live) => ({
      metadata: { labels: { app: live?.metadata.labels?.['app'] === '' ? '' : 'a' } },
    }),
  }
  it.each(Object.entries(blind))(
    'detects an operator that ignores a field that is %s',
    async (_, part) => {
      const account = defineDependent<Thing, ServiceAccount>({
        for: Thing,
        kind: ServiceAccount,
        fromCR: (at) => part(at.view.get(ServiceAccount, sample(at))),
      })
      const { lines } = await scorecard({ load: () => operatorOf({ dependents: [account] }), workloads: false, restMs })
      const failures = lines.filter(({ result }) => result === 'failed')
      expect(failures.map(({ rule }) => rule)).toEqual(['restores drift'])
      expect(failures[0]?.evidence).toMatch(/automountServiceAccountToken stays at nothing|app stays at ""/)
    },
    60_000,
  )

  it('has a broken operator for each rule', () => {
    expect(Object.keys(broken)).toEqual(rules.map(({ name }) => name))
  })

  it('is documented in docs/scorecard.md, rule by rule', async () => {
    const text = await readFile(new URL('../../../docs/scorecard.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(([, name, asks]) => `${name}: ${asks}`)
    expect(rows).toEqual(expect.arrayContaining(rules.map(({ name, asks }) => `${name}: ${asks}`)))
  })

  it.each(Object.entries(broken))(
    'detects exactly the broken rule: %s',
    async (rule, load) => {
      const { lines, passed } = await scorecard({ load, workloads: false, restMs })
      const failures = lines.filter(({ result }) => result === 'failed')
      expect(failures.map((line) => `${line.rule}: ${line.evidence}`)).toEqual([expect.stringMatching(`^${rule}: `)])
      expect(passed).toBe(false)
    },
    60_000,
  )

  it('reports only that an operator never rests, and skips rules that need rest', async () => {
    let writes = 0
    const load = (): Operator =>
      operatorOf({
        writes: [ConfigMap],
        reconcile: ({ cr }) => ({ objects: [configMap(cr, { writes: String(++writes) })], requeueAfterMs: 30_000 }),
      })
    const { lines } = await scorecard({ load, workloads: false, restMs })
    const failures = lines.filter(({ result }) => result === 'failed')
    expect(failures.map(({ rule }) => rule)).toEqual(['quiet at rest'])
    expect(lines.find(({ rule }) => rule === 'restores drift')).toMatchObject({ result: 'skipped' })
  }, 60_000)

  it('answers no live calls of an operator without --live', async () => {
    const load = (): Operator =>
      operatorOf({
        async check({ live }) {
          const { status } = await live.http({ url: 'http://sample.default.svc' })
          if (status !== 200) giveUp('Strange', `It says ${status}.`)
        },
        dependents: [sized],
      })
    const answer = { status: 200, headers: {}, body: '', json: () => '' }
    const live = (): Live => ({
      available: true,
      exec: () => Promise.reject(new Error('nobody runs commands here')),
      http: () => Promise.resolve(answer),
    })
    expect(await scorecard({ load, live, workloads: false, restMs })).toMatchObject({ passed: true, unanswered: 0 })
    const alone = await scorecard({ load, workloads: false, restMs })
    expect(alone.unanswered).toBeGreaterThan(0)
    expect(alone.lines.find(({ rule }) => rule === 'reports status')?.evidence).toContain('no network')
  }, 60_000)

  it('requires a sample for a kind that the operator does not define', async () => {
    const watcher = defineController<ConfigMap>({ for: ConfigMap, reads: [Role] })
    const load = (): Operator => defineOperator({ name: 'examined', controllers: [watcher] })
    await expect(scorecard({ load })).rejects.toMatchObject({ name: 'NoSample' })
  })
})
