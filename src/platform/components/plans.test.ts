/** The fault simulator on the Platform: components switched on, upgraded and off, with every fault. */
import { describe, it } from 'vitest'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { openSimulator, type Simulator } from '../../simulate/faults/simulate.ts'
import { operatorSubject } from '../../simulate/faults/subject.ts'
import { Installation } from '../installation/installation.ts'
import { componentsOperator } from './operator.ts'
const of = (kind: string, name: string, spec: JsonObject): UntypedObject => ({
  apiVersion: 'platform.muster.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
})
const version = (component: string, number: string, more: JsonObject = {}): UntypedObject => {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${component} }\ndata: { version: "${number}" }\n`
  return of('ComponentVersion', `${component}-${number}`, {
    component,
    version: number,
    source: { manifests: { text } },
    ...more,
  })
}
const component = (name: string): UntypedObject =>
  of('Component', name, {
    channels: [
      { name: 'stable', version: '1.0.0' },
      { name: 'fast', version: '1.1.0' },
    ],
  })
const requires = [{ component: 'base' }]
// Scenarios change the first one.
const sample = [
  of('Platform', 'default', { components: [{ name: 'base' }, { name: 'top' }] }),
  component('base'),
  component('top'),
  version('base', '1.0.0'),
  version('base', '1.1.0'),
  version('top', '1.0.0', { requires }),
  version('top', '1.1.0', { requires }),
]

const components = (...entries: readonly JsonObject[]): JsonObject => ({ spec: { components: entries } })
const base = { name: 'base' }
const top = { name: 'top' }
const off = { managementState: 'Removed' }

/** Each from the installed components on. */
const scenarios: Readonly<Record<string, readonly JsonObject[]>> = {
  'switch one off': [components(base, { ...top, ...off })],
  'switch all off': [components({ ...base, ...off }, { ...top, ...off })],
  'off and on again': [components(base, { ...top, ...off }), components(base, top)],
  upgrade: [{ spec: { channel: 'fast' } }],
}

async function open(): Promise<Simulator> {
  const operator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
  const subject = await operatorSubject(() => operator)
  const outputs = [...subject.outputs, Installation, ConfigMap]
  return await openSimulator({ subject: { ...subject, outputs }, sample, workloads: false, scenarios })
}

const all = ['crash', 'answers', 'events', 'stale', 'leaders']

/**
 * Not meant:
 * - a server that is behind shows an earlier Installation of the name, whose revision numbers are not used again;
 * - a Component is held until its Installations are gone, as far as the cache shows: they belong to the Platform, which waits.
 */
const isMeant = (plan: string): boolean =>
  !/^(?:off and on again|(?:change, )?delete and create again|create and delete|delete): travel/.test(plan)

describe('the operator of the platform', () => {
  it(`passes ${howMany} its plans`, async () => {
    await expectToPass(await open(), { sample: 6, all, isMeant })
  }, 900_000)
})
