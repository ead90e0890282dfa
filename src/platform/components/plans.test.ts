/**
 * The fault simulator on the Platform: components switched on, upgraded, left alone, taken over and off, with every fault. With
 * all plans these are a crash at every write and a sample of the others: there are 29,000.
 */
import { describe, it } from 'vitest'
import { expectToPass } from '../../../test/fault-plans.ts'
import { configMapText, crdText } from '../../../test/platform-environment.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { faultGroups } from '../../simulate/faults/fault.ts'
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
const version = (component: string, number: string, more: JsonObject = {}): UntypedObject =>
  of('ComponentVersion', `${component}-${number}`, {
    component,
    version: number,
    source: { manifests: { text: configMapText(component, number) } },
    ...more,
  })
const component = (name: string): UntypedObject =>
  of('Component', name, {
    channels: [
      { name: 'stable', version: '1.0.0' },
      { name: 'fast', version: '1.1.0' },
    ],
  })
const platform = (...entries: readonly JsonObject[]): UntypedObject =>
  of('Platform', 'default', { components: [...entries] })
const components = (...entries: readonly JsonObject[]): JsonObject => ({ spec: { components: [...entries] } })
const requires = [{ component: 'base' }]
const base = { name: 'base' }
const top = { name: 'top' }
const off = { managementState: 'Removed' }
const alone = { managementState: 'Unmanaged' }

interface Simulated {
  /** Scenarios change the first one. */
  readonly sample: readonly UntypedObject[]
  /** Each from what the sample leads to on. */
  readonly scenarios: Readonly<Record<string, readonly JsonObject[]>>
  /** How many plans `npm test` runs. */
  readonly drawn: number
  /**
   * Whether users change the objects, too: not where objects belong to them, such as a default resource or what was let go,
   * and not where a stored CRD that they delete cannot be compared with the next one. @default false
   */
  readonly users?: boolean
}

const Tank = resourceOf('example.com/v1', 'Tank', { plural: 'tanks', namespaced: true })
const tanks = { name: 'tanks' }
const defaultResource = {
  apiVersion: 'example.com/v1',
  kind: 'Tank',
  metadata: { name: 'main', namespace: 'default' },
  spec: { size: 1 },
}
const tanksText = crdText('Tank') + configMapText('tanks', '1.0.0')
const found = { name: 'found' }
const external = { name: 'external' }
const foreign: UntypedObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'found', namespace: 'default' },
  data: { key: 'theirs' },
}

const adopted = { ...found, managementState: 'Adopt' }

const subjects: Readonly<Record<string, Simulated>> = {
  'components of which one requires the other': {
    sample: [
      platform(base, top),
      component('base'),
      component('top'),
      version('base', '1.0.0'),
      version('base', '1.1.0'),
      version('top', '1.0.0', { requires }),
      version('top', '1.1.0', { requires }),
    ],
    scenarios: {
      'switch one off': [components(base, { ...top, ...off })],
      'switch all off': [components({ ...base, ...off }, { ...top, ...off })],
      'off and on again': [components(base, { ...top, ...off }), components(base, top)],
      upgrade: [{ spec: { channel: 'fast' } }],
    },
    drawn: 4,
    users: true,
  },
  'a component that is left alone': {
    sample: [platform(base), component('base'), version('base', '1.0.0')],
    scenarios: {
      'leave alone': [components({ ...base, ...alone })],
      'leave alone and take back': [components({ ...base, ...alone }), components(base)],
      'leave alone and forget': [components({ ...base, ...alone }), components()],
    },
    drawn: 3,
  },
  'a component that was installed by other means, with its default resources': {
    sample: [
      platform({ ...external, ...alone }),
      of('Component', 'external', {
        channels: [{ name: 'stable', version: '1.0.0' }],
        preinstalled: {
          crds: ['tanks.example.com'],
          health: [{ apiVersion: 'example.com/v1', kind: 'Tank' }],
          // It stays at the end: of a kind that the simulator does not ask to be gone. Its Installation says that it is there.
          defaultResources: [
            { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'first', namespace: 'default' } },
          ],
        },
      }),
      version('external', '1.0.0'),
      asObject(readYaml(crdText('Tank')) as JsonObject),
    ],
    scenarios: {
      'switch off': [components({ ...external, ...off })],
      forget: [components()],
      'off and alone again': [components({ ...external, ...off }), components({ ...external, ...alone })],
    },
    drawn: 3,
  },
  'a component whose object has another owner': {
    sample: [
      // In the namespace of that object, which must be there before the operator runs.
      of('Platform', 'default', { namespace: 'default', components: [adopted] }),
      foreign,
      component('found'),
      version('found', '1.0.0'),
    ],
    scenarios: {
      'adopt and manage': [components(found)],
      'adopt and switch off': [components({ ...found, ...off })],
      'adopt and leave alone': [components({ ...found, ...alone })],
    },
    drawn: 3,
  },
  'a component with its own kind and a default resource': {
    sample: [
      platform(tanks),
      component('tanks'),
      version('tanks', '1.0.0', {
        source: { manifests: { text: tanksText } },
        crds: ['tanks.example.com'],
        defaultResource,
      }),
    ],
    scenarios: {
      'switch off': [components({ ...tanks, ...off })],
      'off and on again': [components({ ...tanks, ...off }), components(tanks)],
    },
    drawn: 3,
  },
  'a mandatory component': {
    sample: [
      of('Component', 'audit', { channels: [], mandatory: { version: '1.0.0' } }),
      platform(),
      version('audit', '1.0.0'),
      version('audit', '1.1.0'),
    ],
    scenarios: {
      'raise its version': [{ spec: { mandatory: { version: '1.1.0' } } }],
      'make it optional': [{ spec: { mandatory: null } }],
    },
    drawn: 4,
    users: true,
  },
}

async function open({ sample, scenarios }: Pick<Simulated, 'sample' | 'scenarios'>): Promise<Simulator> {
  const operator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
  const subject = await operatorSubject(() => operator)
  const outputs = [...subject.outputs, Installation, ConfigMap, Tank]
  return await openSimulator({ subject: { ...subject, outputs }, sample, workloads: false, scenarios })
}

/** Not `walk`: a field that is set and reset is a further revision of an Installation, by its number. */
const faults = faultGroups.filter((group) => group !== 'walk' && group !== 'person')

/**
 * Not meant (docs/limits.md):
 * - a server that is behind shows an earlier Installation of the name, whose revision numbers are not used again;
 * - a Component is held until its Installations are gone, as far as the cache shows: they belong to the Platform, which waits.
 *   So one that a user deletes while it runs stays;
 * - a change to an unknown channel before the first installation: there is nothing that could stay;
 * - a stored revision that is not the wanted one, or that has CRDs, and that a user deletes or hides: its content cannot be made
 *   again;
 * - a default resource that a user deletes: it belongs to users, and stays deleted.
 */
const isMeant = (plan: string): boolean =>
  !/^(?:off and on again|(?:change, )?delete and create again|create and delete|delete): travel/.test(plan) &&
  !/remove@\w+=components|^create and change: hurry/.test(plan) &&
  !/remove@\w+=tanks\S* default\/main/.test(plan) &&
  !/(?:remove|edit)@\w+=(?:secrets|revisions\S*) muster-system\/(?:tanks-|audit-1\b)/.test(plan)

describe('the operator of the platform', () => {
  for (const [title, { drawn, users = false, ...simulated }] of Object.entries(subjects))
    it(`passes plans of ${title}`, async () => {
      const all = users ? [...faults, 'person'] : faults
      await expectToPass(await open(simulated), { sample: drawn, all, isMeant, mostOthers: 500 })
    }, 1_200_000)
})
