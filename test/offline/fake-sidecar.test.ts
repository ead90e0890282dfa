/** One fake sidecar answers an operator wherever it is tested: in the test environment, the simulator and the scorecard. */
import {
  ConfigMap,
  defineApplication,
  defineController,
  defineDependent,
  defineKind,
  defineLifecycle,
  defineOperator,
  type Operator,
} from '@muster-dev/muster'
import { operatorSubject, scorecard, simulate } from '@muster-dev/muster/simulate'
import { type FakeSidecar, fakeSidecar, openTestEnvironment } from '@muster-dev/muster/testing'
import { describe, expect, it } from 'vitest'

const life = defineLifecycle({
  name: 'Store',
  start: 'start',
  end: 'ended',
  desiredStates: ['running', 'servicing', 'ended'],
  defaultState: 'running',
  states: {
    start: { leadsTo: 'running', onFailure: { goTo: 'stopping' } },
    running: { to: ['servicing', 'stopping'] },
    servicing: { leadsTo: 'running', action: { name: 'backup' }, onFailure: { retries: 1, goTo: 'running' } },
    stopping: { leadsTo: 'ended', action: { name: 'stop' } },
    ended: { to: ['start'] },
  },
})
const Store = defineKind({ group: 'example.com', version: 'v1', kind: 'Store', spec: life.spec, status: life.status })
const application = defineApplication({
  for: Store,
  lifecycle: life,
  reach: ({ cr, view }) =>
    view.get(ConfigMap, cr.metadata) ? { url: `http://${cr.metadata.name}:8787`, token: 'for tests only' } : 'gone',
})
const config = defineDependent({
  for: Store,
  kind: ConfigMap,
  activeWhen: ({ cr }) => application.isPresent(cr),
  initial: { data: { a: 'b' } },
})
const load = (): Operator =>
  defineOperator({ name: 'store', controllers: [defineController({ for: Store, dependents: [config], application })] })

/** An application that completes each action at once. */
const live = (): FakeSidecar =>
  fakeSidecar({
    state: 'running',
    token: 'for tests only',
    onAction({ name }, sidecar) {
      if (name === 'stop') sidecar.state = 'ended'
      sidecar.finish()
    },
  })
const store = Store.draft({ name: 'sample', namespace: 'default' }, {})

describe('a fake sidecar', () => {
  it('answers in the test environment', async () => {
    const sidecar = live()
    const environment = await openTestEnvironment(load(), { live: sidecar })
    await environment.create(Store, store)
    await environment.settle()
    const patch = { spec: { state: 'ended' } }
    await environment.client.patch(Store, { name: 'sample', namespace: 'default' }, patch, { type: 'merge' })
    await environment.settle(60_000)
    expect(sidecar.actions).toMatchObject([{ name: 'stop', state: 'succeeded' }])
    await environment.close()
  })

  it('answers in the simulator and in the scorecard', async () => {
    const report = await simulate({
      subject: await operatorSubject(load),
      sample: [store as never],
      outside: () => ({ live: live() }),
      workloads: false,
      groups: ['crash'],
      limit: 5,
      mixed: 0,
    })
    expect(report).toMatchObject({ passed: true, plans: { executed: 5, failed: 0 } })
    const card = await scorecard({ load, live, sample: [store as never], workloads: false, restMs: 60_000 })
    expect(card.lines.filter(({ result }) => result === 'failed')).toEqual([])
    expect(card.unanswered).toBe(0)
  })
})
