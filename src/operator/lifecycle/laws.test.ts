import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kube/json.ts'
import type { Named } from '../../kube/object.ts'
import type { View } from '../view/view.ts'
import { type Guard, sideExits, type StateDefinition } from './graph.ts'
import { defineLifecycle, type Lifecycle } from './lifecycle.ts'
import type { ActionReport, LifecycleAct } from './observation.ts'
import { reachableFrom, restOf, routeTo } from './route.ts'
import { type LifecycleStatus, longestHistory } from './status.ts'
import { type LifecycleStep, stepLifecycle } from './step.ts'

const view = {} as View
const whenOpen: Guard = ({ cr }) => cr.metadata.labels?.['open'] === 'yes' || 'closed'

interface StateSeed {
  readonly passing: boolean
  readonly action: boolean
  readonly guarded: boolean
  readonly retries: number
  readonly goesElsewhere: boolean
  readonly timeoutMs: number
  /** Which other states it leads to. */
  readonly ways: readonly number[]
}

const stateSeed: fc.Arbitrary<StateSeed> = fc.record({
  passing: fc.boolean(),
  action: fc.boolean(),
  guarded: fc.boolean(),
  retries: fc.nat(2),
  goesElsewhere: fc.boolean(),
  timeoutMs: fc.integer({ min: 1, max: 20_000 }),
  ways: fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
})

/** Every graph that passes the checks could come out, if enough were drawn: forward ways make it whole, others roam. */
function graphOf(seeds: readonly StateSeed[]): Lifecycle {
  const last = seeds.length
  const name = (at: number): string => (at === last ? 'ended' : `s${at}`)
  const states: Record<string, StateDefinition<string>> = {}
  for (const [at, { passing, action, guarded, retries, goesElsewhere, timeoutMs, ways }] of seeds.entries()) {
    const [a = 0, b = 0, c = 0] = ways
    const ahead = (way: number): string => name(at + 1 + (way % (last - at)))
    const exit = (state: string) => (guarded ? { state, guard: whenOpen } : state)
    const others = [...new Set([name(at + 1), ahead(a), name(b % (last + 1))])].filter((state) => state !== name(at))
    states[name(at)] = {
      ...(passing && { leadsTo: exit(ahead(a)) }),
      to: others.map(exit),
      ...(action && { action: { name: `do${at}`, input: ({ cr }) => ({ generation: cr.metadata.generation ?? 0 }) } }),
      timeoutMs,
      onFailure: { retries, ...(goesElsewhere && { goTo: ahead(c) }) },
    }
  }
  states['ended'] = { to: (seeds[0]?.ways[1] ?? 0) % 2 === 0 ? [name(0)] : [] }
  const definition = { name: 'Random', start: name(0), end: 'ended', defaultState: 'ended', states }
  const all = defineLifecycle<string, string>({ ...definition, desiredStates: ['ended'] })
  const desiredStates = [...reachableFrom(all.nodes, [name(0)])]
  const defaultState = desiredStates[(seeds[0]?.ways[2] ?? 0) % desiredStates.length]!
  return defineLifecycle<string, string>({ ...definition, desiredStates, defaultState })
}

type Event =
  | { readonly what: 'desired'; readonly which: number; readonly again: boolean }
  | { readonly what: 'reconcile'; readonly crash: 'beforeWrite' | 'beforeAct' | 'never' }
  | { readonly what: 'end'; readonly how: 'succeeded' | 'failed' | 'lost' }
  | { readonly what: 'roam'; readonly which: number }
  | { readonly what: 'reach'; readonly reachable: boolean }
  | { readonly what: 'open'; readonly open: boolean }
  | { readonly what: 'time'; readonly ms: number }

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ what: fc.constant('desired' as const), which: fc.nat(), again: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('reconcile' as const),
      crash: fc.constantFrom('beforeWrite' as const, 'beforeAct' as const, 'never' as const, 'never' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('end' as const),
      how: fc.constantFrom('succeeded' as const, 'succeeded' as const, 'failed' as const, 'lost' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('roam' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('reach' as const), reachable: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('open' as const), open: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('time' as const), ms: fc.nat(30_000) }) },
)

interface Started extends ActionReport {
  readonly action: string
  readonly input: Json
}

/** An application with its sidecar, a CR in a server, and operators that come and go. */
function worldOf(life: Lifecycle, reports: boolean) {
  const states = [...life.nodes.keys()]
  const started = new Map<string, Started>()
  const world = {
    now: Date.UTC(2026, 0, 1),
    desired: life.defaultState,
    request: 0,
    generation: 1,
    reachable: true,
    open: true,
    app: undefined as string | undefined,
    status: undefined as LifecycleStatus | undefined,
  }
  const running = (): Started[] => [...started.values()].filter(({ state }) => state === 'running')

  function carryOut(act: LifecycleAct): void {
    must(world.reachable, 'acts only on what answers')
    if (act.verb === 'cancel') return
    const { key, action, input } = act
    const known = started.get(key)
    if (known) must(known.action === action && isDeepStrictEqual(known.input, input), 'one meaning for one key')
    else {
      must(running().length === 0, 'one action at a time')
      started.set(key, { key, action, input, state: 'running' })
    }
  }

  function reconcile(crash: 'beforeWrite' | 'beforeAct' | 'never' = 'never'): LifecycleStep {
    const { now, desired, request, generation, reachable, open, app, status } = world
    const cr: Named & { readonly spec: Record<string, never> } = {
      apiVersion: 'v1',
      kind: 'Random',
      metadata: { name: 'r', uid: 'u-1', generation, ...(open && { labels: { open: 'yes' } }) },
      spec: {},
    }
    const seen = reports && reachable ? app : undefined
    const observed = {
      reachable,
      ...(seen !== undefined && { state: seen }),
      actions: reachable ? [...started.values()] : [],
    }
    const input = freeze({ desired, request: `${request}`, status, observed, now, context: { cr, view, config: {} } })
    const step = stepLifecycle(life, input)
    must(isDeepStrictEqual(stepLifecycle(life, input), step), 'equal input gives equal output')
    must(step.condition.message !== '', 'the condition says something')
    if (crash === 'beforeWrite') return step
    must(step.status === status || !isDeepStrictEqual(step.status, status), 'nothing new is the same object')
    check(step.status)
    world.status = step.status
    if (crash !== 'beforeAct' && step.act) carryOut(step.act)
    return step
  }

  /** The graph is never left, and nothing grows. */
  function check(status: LifecycleStatus | undefined): void {
    if (!status) return
    const { history, state, attempts, transition } = status
    must(states.includes(state), 'a state of the graph')
    must(attempts >= (world.status?.attempts ?? 0), 'numbers only grow')
    must(history.length <= longestHistory, 'the history is bounded')
    must(!transition || transition.to === state, 'the state is the one being entered')
    for (const [at, { state: to, why }] of history.entries()) {
      const before = life.nodes.get(history[at - 1]?.state ?? '')
      if (!before || why === 'observed') continue
      const { leadsTo, onFailure } = before
      const allowed =
        why === 'automatic'
          ? [leadsTo?.state]
          : [before.name, onFailure.goTo, ...sideExits(before).map((edge) => edge.state)]
      must(allowed.includes(to), `${before.name} may become ${to} (${why})`)
    }
  }

  /** The application reaches the state of its transition once the action has succeeded. */
  function obey(): void {
    const { transition } = world.status ?? {}
    const node = transition && life.nodes.get(transition.to)
    if (!node || running().length > 0) return
    if (node.action && started.get(transition.key)?.state !== 'succeeded') return
    world.app = node.leadsTo?.state ?? node.name
  }

  function end(how: 'succeeded' | 'failed' | 'lost'): void {
    for (const action of running()) started.set(action.key, { ...action, state: how })
    if (how === 'succeeded') obey()
  }

  function happen(happening: Event): void {
    switch (happening.what) {
      case 'desired':
        world.desired = life.desiredStates[happening.which % life.desiredStates.length]!
        world.request += happening.again ? 1 : 0
        world.generation += 1
        break
      case 'reconcile':
        reconcile(happening.crash)
        break
      case 'end':
        end(happening.how)
        break
      case 'roam':
        world.app = states[happening.which % states.length]!
        break
      case 'reach':
        world.reachable = happening.reachable
        break
      case 'open':
        world.open = happening.open
        break
      case 'time':
        world.now += happening.ms
    }
  }

  /** All goes well from now on: reconciles until nothing is to be done any more. */
  function calmDown(): LifecycleStep {
    Object.assign(world, { reachable: true, open: true, generation: world.generation + 1 })
    for (let reconciles = 0; reconciles < 500; reconciles++) {
      end('succeeded')
      obey()
      const before = world.status
      const step = reconcile()
      if (step.status === before && !step.act && step.requeueAtMs === undefined) return step
      world.now = Math.max(world.now, step.requeueAtMs ?? world.now)
    }
    throw new Error(`it does not come to rest: ${JSON.stringify(world)}`)
  }

  return { world, happen, calmDown, started }
}

/** `expect` is too slow for what is asked so often. */
function must(holds: boolean, law: string): void {
  if (!holds) throw new Error(`broken: ${law}`)
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) freeze(member)
  }
  return value
}

const cases = fc.tuple(
  fc.array(stateSeed, { minLength: 1, maxLength: 6, size: 'max' }),
  fc.boolean(),
  fc.array(event, { maxLength: 100, size: 'max' }),
)

describe('under any desired states, failures, crashes and spontaneous changes', () => {
  it('never runs two actions at once, never reuses a key, and never leaves the graph', () => {
    fc.assert(
      fc.property(cases, ([seeds, reports, events]) => {
        const { happen, started } = worldOf(graphOf(seeds), reports)
        for (const happening of events) happen(happening)
        // One key a number: no attempt is ever made under the number of another.
        const numbers = [...started.keys()].map((key) => key.split('.')[1])
        expect(new Set(numbers).size).toBe(started.size)
      }),
      { numRuns: 150 },
    )
  })

  it('reaches the desired state after the last fault, or rejects it; then it writes nothing', () => {
    fc.assert(
      fc.property(cases, ([seeds, reports, events]) => {
        const life = graphOf(seeds)
        const { world, happen, calmDown } = worldOf(life, reports)
        for (const happening of events) happen(happening)
        const { status, condition, refusal } = calmDown()
        const { state, transition } = status!
        expect(transition).toBeUndefined()
        const isThere = condition.status === 'True' && state === restOf(life.nodes, world.desired)
        const isHopeless = condition.reason === 'Refused' && !routeTo(life.nodes, state, world.desired)
        expect(refusal === undefined ? isThere : isHopeless).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})
