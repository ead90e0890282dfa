/** An application without a sidecar: its author observes it, and dependents or `act` carry its actions out. */
import { describe, expect, it } from 'vitest'
import { App, app } from '../../../test/app-operator.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { offline } from '../live.ts'
import { openView } from '../view/view.ts'
import type { Named } from '../../kube/object.ts'
import { type ApplicationAccess, type ApplicationOptions, defineApplication } from './application.ts'
import { defineLifecycle } from './lifecycle.ts'
import type { LifecycleAct, Observed } from './observation.ts'

const lifecycle = defineLifecycle({
  name: 'Site',
  start: 'start',
  end: 'ended',
  desiredStates: ['running', 'ended'],
  defaultState: 'running',
  states: {
    start: { leadsTo: 'running', action: { name: 'boot' }, onFailure: { goTo: 'ended' } },
    running: { to: ['ended'] },
    ended: { to: ['start'] },
  },
})

const gone: Observed = { reachable: false, state: 'ended', actions: [] }
const there: Observed = { reachable: true, state: 'ended', actions: [] }

const clock = virtualClock()
const view = openView({
  reader: 'test',
  inputs: [],
  source: { get: () => undefined, list: () => [], byOwner: () => [], serves: () => true },
})

function access(status?: object): ApplicationAccess<App> {
  const cr = { ...app('a', {}, { uid: 'u', generation: 1 }), ...(status && { status }) } as Named & App
  return { cr, view, now: clock.now(), config: undefined, live: offline, clock }
}

const defined = (options: Partial<ApplicationOptions<App>>) =>
  defineApplication<App>({ for: App, lifecycle, ...options })

describe('an application without a sidecar', () => {
  it('is observed by its author, or reached: one of the two', () => {
    const both = { observe: () => gone, reach: () => 'gone' } as const
    for (const options of [{}, both]) {
      expect(() => defined(options)).toThrow('The application Site needs either reach (a sidecar) or observe (none).')
    }
  })

  it('is observed offline, too: an observation may come from the view', async () => {
    expect(await defined({ observe: () => there }).observe(access())).toBe(there)
  })

  it('asks for no action where a dependent carries it out, and calls act where there is one', async () => {
    const acts: LifecycleAct[] = []
    const [plain, acting] = [
      defined({ observe: () => there }),
      defined({ observe: () => there, act: (act) => void acts.push(act) }),
    ]
    const first = acting.step(access(), there, false)
    const next = access({ lifecycle: first.status })
    expect(plain.step(next, there, false).act).toBeUndefined()
    const { act } = acting.step(next, there, false)
    expect(act).toMatchObject({ verb: 'start', action: 'boot' })
    await acting.perform(act!, next)
    expect(acts).toEqual([act])
  })
})
