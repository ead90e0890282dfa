import { describe, expect, it } from 'vitest'
import { embedded, type Embedded } from '../../../test/embedded.ts'
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import { describeFinding } from '../findings/finding.ts'
import type { Fact } from './fact.ts'
import { createQuarantine, type Quarantine, type QuarantineOptions } from './quarantine.ts'
import { addEntries, type QuarantineEntry, entryKey, readRecord } from './quarantine-record.ts'
import { settingsText, codeVersionOf } from './version.ts'

const at = { namespace: 'default', name: 'muster-quarantine' }
const never = new AbortController().signal
const entry = (operator: string): QuarantineEntry => ({
  operator,
  controller: 'app',
  key: 'default/a',
  step: 'CRChecker',
  heldSeconds: 10,
  at: '2026-01-01T00:00:00Z',
  replica: 'replica-1',
  line: 'app.ts:12',
  or: [],
})

const sectionsOf = (operators: Json): Readonly<Record<string, OperatorSettings>> =>
  readConfiguration([{ source: 'test', value: { operators } }]).settings.operators

interface Scene extends Embedded {
  readonly lines: JsonObject[]
  readonly facts: Fact[]
  readonly quarantine: Quarantine
  /** As the watchdog would. */
  readonly condemn: (operator: string, section: OperatorSettings) => Promise<string>
}

function open(options: Partial<QuarantineOptions> = {}): Scene {
  const home = embedded()
  const lines: JsonObject[] = []
  const facts: Fact[] = []
  return {
    ...home,
    lines,
    facts,
    quarantine: createQuarantine({
      client: home.client,
      clock: home.clock,
      configMap: `${at.namespace}/${at.name}`,
      moduleOf: () => Promise.resolve(undefined),
      isChosen: () => false,
      tell: (fact) => void facts.push(fact),
      log: (line) => void lines.push(line),
      ...options,
    }),
    async condemn(operator, section) {
      const { version } = await codeVersionOf({ module: undefined, settings: settingsText(section, false) })
      const key = entryKey(operator, version)
      await addEntries(home.client, at, new Map([[key, entry(operator)]]), {})
      return key
    },
  }
}

describe('a quarantine', () => {
  it('applies to the recorded version, and to operators in this thread', async () => {
    const { quarantine, condemn } = open()
    const sections = sectionsOf({ one: {}, other: {} })
    expect(await quarantine.read(sections, never)).toEqual(new Map())
    const key = await condemn('one', sections['one']!)
    const found = await quarantine.read(sections, never)
    expect([...found.keys()]).toEqual(['one'])
    expect(describeFinding(found.get('one')!)).toBe(
      `one, controller app, for default/a: held the thread of replica-1 for 10 s at step CRChecker, app.ts:12 (2026-01-01T00:00:00Z), and that process was ended. It runs at the level worker until its module or its settings change, or its entry is removed (ConfigMap default/muster-quarantine, key ${key}).`,
    )
    const released = [
      { one: { isolation: 'worker' } },
      { one: { config: { size: 2 } } },
      { one: { namespaces: ['x'] } },
    ]
    for (const operators of released) expect(await quarantine.read(sectionsOf(operators), never)).toEqual(new Map())
    // What is changed while it runs makes no other operator of it.
    expect((await quarantine.read(sectionsOf({ one: { paused: true } }), never)).size).toBe(1)
  })

  it('ends when the isolation is set explicitly, or the entry is removed', async () => {
    const chosen = new Set<string>()
    const { quarantine, condemn, client } = open({ isChosen: (operator) => chosen.has(operator) })
    const sections = sectionsOf({ one: {} })
    const key = await condemn('one', sections['one']!)
    chosen.add('one')
    expect((await quarantine.read(sections, never)).size).toBe(0)
    chosen.clear()
    expect((await quarantine.read(sections, never)).size).toBe(1)
    await client.patch(ConfigMap, at, { data: { [key]: null } }, { type: 'merge' })
    expect((await quarantine.read(sections, never)).size).toBe(0)
  })

  it('is reported as an Event on its record', async () => {
    const { quarantine, condemn, client } = open()
    const sections = sectionsOf({ one: {} })
    await condemn('one', sections['one']!)
    const found = await quarantine.read(sections, never)
    await quarantine.announce(found.get('one')!)
    const { items } = await client.list(resourceOf('v1', 'Event'), { namespace: 'default' })
    expect(items).toMatchObject([{ reason: 'Quarantined', type: 'Warning', involvedObject: at }])
  })

  it('that may not be read stops no operator, and is reported once', async () => {
    const forbidden: Pick<Client, 'get'> = { get: () => Promise.reject(new MusterError(clientErrors.Forbidden, 'no')) }
    const { quarantine, lines } = open({ client: forbidden as Client })
    for (let time = 0; time < 2; time++) {
      expect(await quarantine.read(sectionsOf({ one: {} }), never)).toEqual(new Map())
    }
    expect(lines).toEqual([
      {
        level: 'warn',
        msg: 'Quarantine ConfigMap cannot be read',
        configMap: 'default/muster-quarantine',
        error: 'no',
      },
    ])
  })

  it('informs the watchdog about the operators in its thread', async () => {
    const { quarantine, facts } = open({ moduleOf: () => Promise.resolve('/one.ts#one') })
    const { one } = sectionsOf({ one: {} })
    await quarantine.admit('one@edge', 'one', one!)
    expect(facts).toMatchObject([{ about: 'operator', as: 'one@edge', operator: 'one', module: '/one.ts#one' }])
  })
})

describe('the quarantine record', () => {
  it('keeps entries of others', async () => {
    const { client } = embedded()
    await addEntries(client, at, new Map([['one.1', entry('one')]]), {})
    await addEntries(client, at, new Map([['two.1', entry('two')]]), {})
    expect([...(await readRecord(client, at)).entries]).toEqual([
      ['one.1', entry('one')],
      ['two.1', entry('two')],
    ])
  })

  it('is created by one of two concurrent managers', async () => {
    const { client } = embedded()
    const both = ['one', 'two'].map((name) => addEntries(client, at, new Map([[`${name}.1`, entry(name)]]), {}))
    await Promise.all(both)
    expect((await readRecord(client, at)).entries.size).toBe(2)
  })

  it('accepts entries written by hand: the key names the operator', async () => {
    const { client } = embedded()
    const data = { 'one.1': 'because', 'two.1': '{"or":[1],"heldSeconds":"long"}', '__proto__.1': '[]' }
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at, data })
    const { entries } = await readRecord(client, at)
    expect([...entries.values()].map(({ operator, or }) => [operator, or])).toEqual([
      ['__proto__', []],
      ['one', []],
      ['two', []],
    ])
  })
})
