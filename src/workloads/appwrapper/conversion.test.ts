import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { convertObject, lostInRoundTrip } from '../../operator/kind/conversion.ts'
import { checkKind } from '../../operator/kind/kind-check.ts'
import type { Kind } from '../../operator/kind/kind.ts'
import { AppWrapper } from './appwrapper.ts'
import { appWrapperConversion } from './conversion.ts'

const [v1beta1, v1beta2] = ['workload.codeflare.dev/v1beta1', 'workload.codeflare.dev/v1beta2']
const word = fc.stringMatching(/^[a-z]{1,6}$/)
const whole = fc.integer({ min: -5, max: 1_000_000 })
const texts = fc.dictionary(word, word, { maxKeys: 3 })
const time = fc.integer({ min: 0, max: 4_000_000_000_000 }).map((ms) => new Date(ms).toISOString())
const some = (model: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) =>
  fc.record(model, { requiredKeys }) as fc.Arbitrary<JsonObject>
/** Objects without members are not told apart from absent ones. */
const filled = (arbitrary: fc.Arbitrary<JsonObject>) => arbitrary.filter((object) => Object.keys(object).length > 0)

const template = fc.record({
  apiVersion: fc.constant('v1'),
  kind: word,
  metadata: fc.record({ name: word }),
  spec: texts,
})
const requested = some({ replicas: fc.nat(), requests: texts, limits: texts }, ['replicas', 'requests'])
const requeuing = some({
  timeInSeconds: whole,
  initialTimeInSeconds: whole,
  maxTimeInSeconds: whole,
  growthType: word,
  numRequeuings: whole,
  maxNumRequeuings: whole,
})
const dispatchDuration = some({ expected: whole, limit: whole, overrun: fc.boolean() })
const schedulingSpec = { minAvailable: whole, nodeSelector: texts, requeuing, dispatchDuration }

const oldSpec = some(
  {
    priority: whole,
    priorityslope: fc.integer(),
    service: some({ spec: texts }),
    selector: some({ matchLabels: texts }),
    schedulingSpec: filled(some(schedulingSpec)),
    resources: fc.record({
      GenericItems: fc.array(
        some({
          replicas: whole,
          minavailable: whole,
          allocated: whole,
          priority: whole,
          priorityslope: whole,
          generictemplate: template,
          custompodresources: fc.array(requested, { maxLength: 2 }),
          completionstatus: word,
        }),
        { maxLength: 3 },
      ),
    }),
  },
  ['resources'],
)
const newSpec = some({
  suspend: fc.boolean(),
  managedBy: word,
  lifeCycle: fc.constantFrom('Reset', 'Requeue'),
  scheduling: filled(
    some({ priority: whole, prioritySlope: whole, service: texts, selector: texts, ...schedulingSpec }),
  ),
  components: fc.array(
    some({
      template,
      podSets: fc.array(some({ path: word, replicas: whole, annotations: texts }, ['path']), { maxLength: 2 }),
      podSetInfos: fc.array(some({ labels: texts, nodeSelector: texts }), { maxLength: 2 }),
      annotations: texts,
      pods: fc.array(requested, { maxLength: 2 }),
      completionStatus: word,
      item: filled(some({ replicas: whole, priority: whole })),
    }),
    { maxLength: 3 },
  ),
})

const oldCondition = fc.record({ type: word, status: word, reason: word, lastTransitionMicroTime: time })
const oldStatus = some({
  state: fc.oneof(
    word,
    fc.constantFrom('Pending', 'Running', 'RunningHoldCompletion', 'Completed', 'Failed', 'Deleted'),
  ),
  queuejobstate: word,
  canrun: fc.boolean(),
  running: whole,
  Succeeded: whole,
  template: whole,
  totalmemory: whole,
  message: word,
  controllerfirstdispatchtimestamp: fc.oneof(word, time),
  requeueingTimeInSeconds: whole,
  numberOfRequeueings: whole,
  conditions: fc.array(oldCondition, { maxLength: 3 }),
  pendingpodconditions: fc.array(texts, { maxLength: 2 }),
})
const transition = fc.record({ time, phase: word, reason: word, message: word })
const newStatus = some({
  phase: fc.constantFrom('', 'Suspended', 'Resuming', 'Running', 'Succeeded', 'Failed', 'Terminating'),
  resettingCount: fc.nat(),
  conditions: fc.array(
    fc.record({ type: word, status: fc.constantFrom('True', 'False'), reason: word, message: word }),
  ),
  transitions: fc.array(transition, { maxLength: 3 }),
  firstDispatchTime: time,
  timers: some({ pods: time, deleting: time }),
  requeuing: fc.record({ count: fc.nat(), seconds: fc.nat() }),
  isHoldingCompletion: fc.boolean(),
})

const objects = (apiVersion: string, spec: fc.Arbitrary<JsonObject>, status: fc.Arbitrary<JsonObject>) =>
  some({ spec, status }).map((parts) => asObject({ apiVersion, kind: 'AppWrapper', metadata: { name: 'x' }, ...parts }))

describe('conversion of AppWrappers', () => {
  it('loses nothing, from either version and back', () => {
    const any = fc.oneof(objects(v1beta1, oldSpec, oldStatus), objects(v1beta2, newSpec, newStatus))
    fc.assert(
      fc.property(any, (object) => {
        expect(lostInRoundTrip(appWrapperConversion, object)).toEqual([])
      }),
    )
  })

  it('gives what both versions accept', () => {
    const kind: Kind = AppWrapper as Kind
    fc.assert(
      fc.property(objects(v1beta1, oldSpec, oldStatus), (object) => {
        const stored = convert(object, v1beta2)
        const problems = kind.validate(stored as never)
        expect(problems.filter(({ field }) => field?.startsWith('spec'))).toEqual([])
      }),
    )
  })

  it('keeps what a client of v1beta1 did not change, and takes over what it did', () => {
    const stored = asObject({
      apiVersion: v1beta2,
      kind: 'AppWrapper',
      metadata: { name: 'x' },
      spec: { suspend: true, components: [{ template: { kind: 'Job' }, podSets: [{ path: 'template' }] }] },
      status: { phase: 'Running', resettingCount: 2, transitions: [] },
    })
    const shown = convert(stored, v1beta1)
    const prioritized = asObject({ ...shown, spec: { ...asJson(shown['spec'] as object), priority: 7 } })
    expect(convert(prioritized, v1beta2)).toEqual({
      ...stored,
      spec: { ...(stored['spec'] as object), scheduling: { priority: 7 } },
    })
    const failed = asObject({ ...shown, status: { ...asJson(shown['status'] as object), state: 'Failed' } })
    expect(convert(failed, v1beta2)['status']).toMatchObject({ phase: 'Failed' })
  })

  it('shows the phases of v1beta2 as the states of MCAD', () => {
    const at = '2026-01-01T00:00:00.000Z'
    const stateOf = (phase: string, reason: string, more: JsonObject = {}): Json | undefined => {
      const transitions = [{ time: at, phase, reason, message: '' }]
      const status = { phase, transitions, ...more }
      const object = asObject({ apiVersion: v1beta2, kind: 'AppWrapper', metadata: { name: 'x' }, status })
      return asJson(convert(object, v1beta1)['status'] as object)['state']
    }
    expect(stateOf('Suspended', 'Created')).toBe('Pending')
    expect(stateOf('Resuming', 'Dispatched')).toBe('Running')
    expect(stateOf('Running', 'Deployed', { isHoldingCompletion: true })).toBe('RunningHoldCompletion')
    expect(stateOf('Succeeded', 'Completed')).toBe('Completed')
    expect(stateOf('Failed', 'CreateFailed')).toBe('Failed')
    expect(stateOf('Failed', 'MaximumRequeuings')).toBe('Deleted')
  })

  it('is between versions that an API server accepts', () => {
    expect(() => checkKind(AppWrapper as Kind)).not.toThrow()
  })
})

function convert(object: UntypedObject, apiVersion: string): UntypedObject {
  return convertObject([appWrapperConversion], object, apiVersion)
}
