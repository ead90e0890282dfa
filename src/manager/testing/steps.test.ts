import { describe, expect, it } from 'vitest'
import {
  app,
  type AppController,
  App as AppKind,
  conditionsOf,
  exists,
  operations,
  read,
  since,
  tryApp,
} from '../../../test/kit.ts'
import { errorTable, type ErrorName } from '../../kube/errors.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fail, giveUp, tryLater } from '../../operator/failure.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { ConfigMap, Secret } from '../../operator/kinds.ts'
import { defineDependent } from '../../operator/dependent.ts'
import { standardSteps, type StepGraph, type StepName } from '../../operator/step-graph.ts'
import type { TestEnvironment, TestEnvironmentOptions } from './test-environment.ts'

const ref = { name: 'a', namespace: 'default' }
const config = defineDependent({
  for: AppKind,
  kind: ConfigMap,
  fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
})
const happy = ['CRGetter', 'CRChecker', 'ObjectsGetter', 'Mutator', 'Updater', 'SuccessManager']

async function run(
  options: AppController,
  spec: Readonly<Record<string, unknown>> = {},
  trialOptions: TestEnvironmentOptions = {},
): Promise<{ readonly testEnv: TestEnvironment; readonly ledger: Ledger }> {
  const testEnv = await tryApp(options, trialOptions)
  await testEnv.create(AppKind, app('a', spec))
  await testEnv.settle(0)
  const [ledger] = testEnv.ledgers
  if (!ledger) throw new Error('nothing was reconciled')
  return { testEnv, ledger }
}

describe('the path', () => {
  it('is recorded', async () => {
    const { testEnv, ledger } = await run({ resources: [config] })
    expect(ledger.path).toEqual(happy)
    await testEnv.client.delete(AppKind, ref)
    await testEnv.close()
  })

  it('goes by CRFinalizer, and not by CRChecker, when the CR is being deleted', async () => {
    const { testEnv } = await run({
      resources: [config],
      finalize: () => 'done',
      check: ({ cr }) => {
        if (cr.spec.text === 'bad') giveUp('Bad', 'It is bad.')
      },
    })
    await testEnv.client.patch(AppKind, ref, { spec: { text: 'bad' } }, { type: 'merge' })
    await testEnv.settle()
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(testEnv.ledgers.at(-1)?.path).toEqual(['CRGetter', 'CRFinalizer'])
    expect(await exists(testEnv.client, AppKind, 'a')).toBe(false)
    await testEnv.close()
  })

  const steps = happy.filter((name): name is StepName => name !== 'none')
  it.each(steps)('%s: a failure leads to ErrorManager, giving up to GiveUpManager, and both are told', async (step) => {
    for (const [end, last, reason] of [
      [() => fail('Broken', 'It broke.'), 'ErrorManager', 'Broken'],
      [() => tryLater('Later', 'Not now.'), 'ErrorManager', 'Later'],
      [() => giveUp('Enough', 'It makes no sense.'), 'GiveUpManager', 'Enough'],
    ] as const) {
      const { testEnv, ledger } = await run({ resources: [config], steps: { [step]: end } })
      expect(ledger.path).toEqual([...happy.slice(0, happy.indexOf(step) + 1), last])
      const { Reconciled, Stalled } = await conditionsOf(testEnv.client, 'a')
      expect(Reconciled).toMatchObject({ status: 'False', reason })
      expect(Stalled?.reason).toBe(reason === 'Later' ? undefined : reason)
      expect(ledger.requeueAfterMs !== undefined).toBe(reason === 'Later')
      await testEnv.close()
    }
  })

  it('CRFinalizer: a failure leads to ErrorManager', async () => {
    const { testEnv } = await run({ finalize: () => fail('Broken', 'It broke.') })
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(testEnv.ledgers.at(-1)?.path).toEqual(['CRGetter', 'CRFinalizer', 'ErrorManager'])
    await testEnv.close()
  })
})

describe('a step that an author overrides', () => {
  it.each(happy)(
    '%s: next() does what it does by default, and the author may do more before and after',
    async (step) => {
      const heard: string[] = []
      const { testEnv, ledger } = await run({
        resources: [config],
        steps: {
          [step]: async (_: unknown, next: () => Promise<void>) => {
            heard.push('before')
            await next()
            heard.push('after')
          },
        },
      })
      expect(heard).toEqual(['before', 'after'])
      expect(ledger.path).toEqual(happy)
      expect(ledger.failure).toBeUndefined()
      expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(true)
      await testEnv.close()
    },
  )

  it('Updater: without next() nothing is written', async () => {
    const { testEnv } = await run({ resources: [config], steps: { Updater: () => undefined } })
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(false)
    await testEnv.close()
  })

  it('Mutator: without next() and without want() the error says what is missing', async () => {
    const { testEnv, ledger } = await run({ resources: [config], steps: { Mutator: () => undefined } })
    expect(ledger.failure).toMatchObject({ reason: 'InvalidResource', subject: 'configMap' })
    expect(ledger.failure?.message).toContain('Mutator')
    await testEnv.close()
  })

  it('Mutator: may want something else, and it is kept so', async () => {
    const { testEnv } = await run({
      resources: [config],
      steps: {
        async Mutator(context, next) {
          expect(context.wanted.size).toBe(0)
          await next()
          expect([...context.wanted.keys()]).toEqual(['configMap'])
          context.want('configMap', {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'a', namespace: 'default' },
            data: { other: 'yes' },
          })
        },
      },
    })
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ other: 'yes' })
    await testEnv.client.patch(ConfigMap, ref, { data: { other: 'no' } }, { type: 'merge' })
    await testEnv.settle()
    expect((await read(testEnv.client, ConfigMap, 'a'))['data']).toEqual({ other: 'yes' })
    await testEnv.close()
  })

  it('ObjectsGetter: may register more, and what it no longer registers is pruned', async () => {
    const more = defineDependent({ for: AppKind, kind: Secret, id: 'more', initial: { stringData: { a: 'b' } } })
    const { testEnv } = await run(
      {
        resources: [config],
        writes: [Secret],
        steps: {
          async ObjectsGetter({ cr, register }, next) {
            if (cr.spec.size > 1) register(more)
            await next()
          },
        },
      },
      { size: 2 },
    )
    expect(await exists(testEnv.client, Secret, 'a')).toBe(true)
    await testEnv.client.patch(AppKind, ref, { spec: { size: 1 } }, { type: 'merge' })
    await testEnv.settle()
    expect(await exists(testEnv.client, Secret, 'a')).toBe(false)
    await testEnv.close()
  })

  it('may catch what next() throws', async () => {
    const { testEnv, ledger } = await run({
      resources: [config],
      check: () => fail('Broken', 'It broke.'),
      steps: {
        async CRChecker(_, next) {
          await next().catch(() => undefined)
        },
      },
    })
    expect(ledger.path).toEqual(happy)
    await testEnv.close()
  })

  it('may end before next() has, or call it twice: it is done once', async () => {
    const { testEnv, ledger } = await run({
      resources: [config],
      steps: {
        Updater(_, next) {
          void next()
        },
        async Mutator(_, next) {
          await next()
          await next()
        },
      },
    })
    expect(operations([ledger])).toEqual(['created configMap', 'statusWritten cr'])
    await testEnv.close()
  })

  it('may ask to be run again', async () => {
    const { testEnv } = await run({ steps: { SuccessManager: ({ requeueAfter }) => requeueAfter(5000) } })
    const before = testEnv.ledgers.length
    await testEnv.clock.advance(4000)
    expect(testEnv.ledgers.length).toBe(before)
    await testEnv.clock.advance(1500)
    expect(testEnv.ledgers.length).toBe(before + 1)
    await testEnv.close()
  })
})

describe('a graph of an author', () => {
  const graph: StepGraph = {
    ...standardSteps,
    steps: {
      ...standardSteps.steps,
      CRChecker: {
        children: [
          { step: 'Recover', on: 'failed' },
          { step: 'License', on: 'done' },
        ],
      },
      License: {
        children: [
          { step: 'ErrorManager', on: 'failed' },
          { step: 'GiveUpManager', on: 'gaveUp' },
          { step: 'ObjectsGetter', on: 'done' },
        ],
      },
      Recover: { children: [{ step: 'License', on: 'done' }] },
    },
  }

  it('may have more steps', async () => {
    const { testEnv, ledger } = await run({
      resources: [config],
      graph,
      steps: { License: () => undefined, Recover: () => undefined },
    })
    expect(ledger.path).toEqual(['CRGetter', 'CRChecker', 'License', ...happy.slice(2)])
    await testEnv.close()
  })

  it('a step that fails after another has failed before is not taken for one that went well', async () => {
    const { testEnv, ledger } = await run({
      resources: [config],
      graph,
      check: () => tryLater('First', 'The first failure.'),
      steps: { License: () => fail('Second', 'The second failure.'), Recover: () => undefined },
    })
    expect(ledger.path).toEqual(['CRGetter', 'CRChecker', 'Recover', 'License', 'ErrorManager'])
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(false)
    await testEnv.close()
  })

  it('with a cycle is cut off and reported, and affects no other CR', async () => {
    const circle: StepGraph = {
      ...standardSteps,
      steps: {
        ...standardSteps.steps,
        Mutator: {
          children: [
            { step: 'Updater', on: 'failed' },
            { step: 'CRChecker', on: 'done' },
          ],
        },
      },
    }
    const { testEnv, ledger } = await run({ graph: circle })
    expect(ledger.path.length).toBeLessThanOrEqual(100)
    expect(ledger.failure?.reason).toBe('StepsNeverEnd')
    expect(ledger.failure?.message).toContain('CRChecker > ObjectsGetter > Mutator')
    const { sent } = since(testEnv)
    await testEnv.settle(60_000)
    expect(sent()).toEqual([])
    await testEnv.close()
  })
})

describe('what authors do wrong is contained, and named with its place', () => {
  const mistakes: readonly (readonly [string, AppController, ErrorName | 'Error', RegExp])[] = [
    [
      'a throw',
      {
        check: () => {
          throw new Error('oh no')
        },
      },
      'Error',
      /^CRChecker: oh no$/,
    ],
    ['a rejected promise', { check: () => Promise.reject(new Error('oh no')) }, 'Error', /oh no/],
    [
      'a thrown text',
      {
        check: () => {
          throw 'just text'
        },
      },
      'Error',
      /just text/,
    ],
    [
      'a thrown undefined',
      {
        check: () => {
          throw undefined
        },
      },
      'Error',
      /undefined/,
    ],
    [
      'a thrown object without a name',
      {
        check: () => {
          throw Object.create(null)
        },
      },
      'Error',
      /./,
    ],
    ['a rejection with nothing', { check: () => Promise.reject() }, 'Error', /undefined/],
    [
      'an error without message',
      {
        check: () => {
          throw new Error()
        },
      },
      'Error',
      /no message/,
    ],
    [
      'an error whose message is no text',
      {
        check: () => {
          throw Object.assign(new Error('x'), { message: { a: 1 } })
        },
      },
      'Error',
      /./,
    ],
    [
      'a change of the CR',
      {
        check: ({ cr }) => {
          ;(cr.spec as { text: string }).text = 'mine'
        },
      },
      'FrozenObject',
      /kit, controller app, step CRChecker: .*text/,
    ],
    [
      'a change of what is read',
      {
        resources: [config],
        steps: {
          async SuccessManager({ view }, next) {
            await next()
            const found = view.get(ConfigMap, ref)
            ;(found as unknown as { data: Record<string, string> }).data['x'] = 'y'
          },
        },
      },
      'FrozenObject',
      /SuccessManager: .*extensible/,
    ],
    [
      'a read of a kind that is not declared',
      { check: ({ view }) => void view.list(Secret) },
      'UndeclaredInput',
      /secrets\/v1.*apps\.test\.example\.com\/v1/,
    ],
    [
      'an object of a kind that is not declared',
      { reconcile: () => ({ objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }] }) },
      'UndeclaredOutput',
      /kit, controller app wants Secret of v1/,
    ],
    [
      'a registered resource of a kind that is not declared',
      {
        steps: {
          async ObjectsGetter({ register }, next) {
            register(defineDependent({ for: AppKind, kind: Secret }))
            await next()
          },
        },
      },
      'UndeclaredInput',
      /secrets\/v1/,
    ],
    [
      'data that contradict the definition',
      { resources: [defineDependent({ for: AppKind, kind: ConfigMap, initial: { metadata: { name: 'other' } } })] },
      'InvalidResource',
      /configMap: metadata\.name is "other" in its data and "a"/,
    ],
    [
      'YAML that is no object',
      { resources: [defineDependent({ for: AppKind, kind: ConfigMap, initial: '- a\n- b\n' })] },
      'InvalidResource',
      /initial YAML/,
    ],
    [
      'want() of a subject that there is not',
      { steps: { Mutator: ({ want }) => want('x', {} as UntypedObject) } },
      'InvalidResource',
      /no x/,
    ],
  ]
  it.each(mistakes)('%s', async (_, options, reason, message) => {
    const { testEnv, ledger } = await run({ backOff: { firstMs: 60_000 }, ...options })
    expect(ledger.failure?.reason).toBe(reason)
    const { Reconciled } = await conditionsOf(testEnv.client, 'a')
    expect(Reconciled?.reason).toBe(reason)
    expect(Reconciled?.message).toMatch(message)
    expect(reason === 'Error' || errorTable[reason].cure.length > 10).toBe(true)
    await testEnv.close()
  })

  it.each([
    ['', ''],
    ['no word at all!', 'x'],
    ['Long', 'x'.repeat(100_000)],
    ['R'.repeat(3000), 'x'],
  ])('a reason or message that no condition could hold is still told (%#)', async (reason, message) => {
    for (const end of [giveUp, fail, tryLater]) {
      const { testEnv, ledger } = await run({ check: () => end(reason, message), backOff: { firstMs: 60_000 } })
      expect(ledger.entries.filter(({ operation }) => operation === 'statusWritten')).toHaveLength(1)
      expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.status).toBe('False')
      await testEnv.close()
    }
  })

  it.each(['CRChecker', 'Updater', 'SuccessManager'] as const)('%s: what takes too long is cut off', async (step) => {
    const { testEnv, ledger } = await run(
      { resources: [config], timeoutMs: 5000, steps: { [step]: () => new Promise<void>(() => undefined) } },
      {},
      {},
    ).catch(async () => {
      throw new Error('it never ended')
    })
    expect(ledger.failure?.reason).toBe('StepTimeout')
    expect(ledger.failure?.message).toContain(`step ${step}: no result after 5000 ms`)
    await testEnv.close()
  })

  it('one CR that makes an author’s code fail keeps no other from being reconciled', async () => {
    const testEnv = await tryApp({
      resources: [config],
      timeoutMs: 5000,
      async check({ cr }) {
        if (cr.metadata.name === 'throws') throw new Error('oh no')
        if (cr.metadata.name === 'hangs') await new Promise(() => undefined)
      },
    })
    for (const name of ['throws', 'hangs', 'works']) await testEnv.create(AppKind, app(name))
    await testEnv.settle()
    expect(await exists(testEnv.client, ConfigMap, 'works')).toBe(true)
    expect(await exists(testEnv.client, ConfigMap, 'throws')).toBe(false)
    await testEnv.close()
  })
})
