import { describe, expect, it } from 'vitest'
import {
  app,
  type AppController,
  App as AppKind,
  conditionsOf,
  exists,
  operations,
  read,
  openAppEnvironment,
} from '../../../test/app-operator.ts'
import { operatorErrors } from '../../operator/errors.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fail, giveUp, tryLater } from '../../operator/failure.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import type { StepName } from '../../operator/step-graph.ts'
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
  const testEnv = await openAppEnvironment(options, trialOptions)
  await testEnv.create(AppKind, app('a', spec))
  await testEnv.settle(0)
  const [ledger] = testEnv.ledgers
  if (!ledger) throw new Error('nothing was reconciled')
  return { testEnv, ledger }
}

describe('the path of steps', () => {
  it('is recorded', async () => {
    const { testEnv, ledger } = await run({ dependents: [config] })
    expect(ledger.path).toEqual(happy)
    await testEnv.client.delete(AppKind, ref)
    await testEnv.close()
  })

  it('contains CRFinalizer, and not CRChecker, during deletion of the CR', async () => {
    const { testEnv } = await run({
      dependents: [config],
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
  it.each(steps)(
    '%s: a failure leads to ErrorManager, giving up to GiveUpManager, and both receive it',
    async (step) => {
      for (const [end, last, reason] of [
        [() => fail('Broken', 'It broke.'), 'ErrorManager', 'Broken'],
        [() => tryLater('Later', 'Not now.'), 'ErrorManager', 'Later'],
        [() => giveUp('Enough', 'It makes no sense.'), 'GiveUpManager', 'Enough'],
      ] as const) {
        const { testEnv, ledger } = await run({ dependents: [config], steps: { [step]: end } })
        expect(ledger.path).toEqual([...happy.slice(0, happy.indexOf(step) + 1), last])
        const { Reconciled, Stalled } = await conditionsOf(testEnv.client, 'a')
        expect(Reconciled).toMatchObject({ status: 'False', reason })
        expect(Stalled?.reason).toBe(reason === 'Later' ? undefined : reason)
        expect(ledger.requeueAfterMs !== undefined).toBe(reason === 'Later')
        await testEnv.close()
      }
    },
  )

  it('CRFinalizer: a failure leads to ErrorManager', async () => {
    const { testEnv } = await run({ finalize: () => fail('Broken', 'It broke.') })
    await testEnv.client.delete(AppKind, ref)
    await testEnv.settle()
    expect(testEnv.ledgers.at(-1)?.path).toEqual(['CRGetter', 'CRFinalizer', 'ErrorManager'])
    await testEnv.close()
  })
})

describe('an overridden step', () => {
  it.each(happy)('%s: next() runs the default, and the author may add code before and after', async (step) => {
    const heard: string[] = []
    const { testEnv, ledger } = await run({
      dependents: [config],
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
  })

  it('Updater: without next() nothing is written', async () => {
    const { testEnv } = await run({ dependents: [config], steps: { Updater: () => undefined } })
    expect(await exists(testEnv.client, ConfigMap, 'a')).toBe(false)
    await testEnv.close()
  })

  it('Mutator: without next() and without want() the error explains what is missing', async () => {
    const { testEnv, ledger } = await run({ dependents: [config], steps: { Mutator: () => undefined } })
    expect(ledger.failure).toMatchObject({ reason: 'InvalidDependent', subject: 'configMap' })
    expect(ledger.failure?.message).toContain('Mutator')
    await testEnv.close()
  })

  it('Mutator: may want another object, which is maintained', async () => {
    const { testEnv } = await run({
      dependents: [config],
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

  it('ObjectsGetter: may register more dependents, and those no longer registered are pruned', async () => {
    const more = defineDependent({ for: AppKind, kind: Secret, id: 'more', initial: { stringData: { a: 'b' } } })
    const { testEnv } = await run(
      {
        dependents: [config],
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
      dependents: [config],
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

  it('may end before next() has, or call it twice: it runs once', async () => {
    const { testEnv, ledger } = await run({
      dependents: [config],
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

  it('may request a requeue', async () => {
    const { testEnv } = await run({ steps: { SuccessManager: ({ requeueAfter }) => requeueAfter(5000) } })
    const before = testEnv.ledgers.length
    await testEnv.clock.advance(4000)
    expect(testEnv.ledgers.length).toBe(before)
    await testEnv.clock.advance(1500)
    expect(testEnv.ledgers.length).toBe(before + 1)
    await testEnv.close()
  })
})

describe('what authors do wrong is contained, and named with its place', () => {
  const mistakes: readonly (readonly [string, AppController, keyof typeof operatorErrors | 'Error', RegExp])[] = [
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
      'an error whose message is not a string',
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
      'a change of a read object',
      {
        dependents: [config],
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
      'a read of an undeclared kind',
      { check: ({ view }) => void view.list(Secret) },
      'UndeclaredInput',
      /secrets\/v1.*apps\.test\.example\.com\/v1/,
    ],
    [
      'an object of an undeclared kind',
      { reconcile: () => ({ objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }] }) },
      'UndeclaredOutput',
      /kit, controller app wants Secret of v1/,
    ],
    [
      'a registered dependent of an undeclared kind',
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
      { dependents: [defineDependent({ for: AppKind, kind: ConfigMap, initial: { metadata: { name: 'other' } } })] },
      'InvalidDependent',
      /configMap: metadata\.name is "other" in its data and "a"/,
    ],
    [
      'YAML that is not an object',
      { dependents: [defineDependent({ for: AppKind, kind: ConfigMap, initial: '- a\n- b\n' })] },
      'InvalidDependent',
      /initial YAML/,
    ],
    [
      'want() of an unknown subject',
      { steps: { Mutator: ({ want }) => want('x', {} as UntypedObject) } },
      'InvalidDependent',
      /no x/,
    ],
  ]
  it.each(mistakes)('%s', async (_, options, reason, message) => {
    const { testEnv, ledger } = await run({ backOff: { firstMs: 60_000 }, ...options })
    expect(ledger.failure?.reason).toBe(reason)
    const { Reconciled } = await conditionsOf(testEnv.client, 'a')
    expect(Reconciled?.reason).toBe(reason)
    expect(Reconciled?.message).toMatch(message)
    expect(reason === 'Error' || operatorErrors[reason].cure.length > 10).toBe(true)
    await testEnv.close()
  })

  it.each([
    ['', ''],
    ['no word at all!', 'x'],
    ['Long', 'x'.repeat(100_000)],
    ['R'.repeat(3000), 'x'],
  ])('a reason or message that is invalid in a condition is still reported (%#)', async (reason, message) => {
    for (const end of [giveUp, fail, tryLater]) {
      const { testEnv, ledger } = await run({ check: () => end(reason, message), backOff: { firstMs: 60_000 } })
      expect(ledger.entries.filter(({ operation }) => operation === 'statusWritten')).toHaveLength(1)
      expect((await conditionsOf(testEnv.client, 'a'))['Reconciled']?.status).toBe('False')
      await testEnv.close()
    }
  })

  it.each(['CRChecker', 'Updater', 'SuccessManager'] as const)(
    '%s: a step is interrupted at its timeout',
    async (step) => {
      const { testEnv, ledger } = await run(
        { dependents: [config], timeoutMs: 5000, steps: { [step]: () => new Promise<void>(() => undefined) } },
        {},
        {},
      ).catch(async () => {
        throw new Error('it never ended')
      })
      expect(ledger.failure?.reason).toBe('StepTimeout')
      expect(ledger.failure?.message).toContain(`step ${step}: no result after 5000 ms`)
      await testEnv.close()
    },
  )

  it('a CR that makes author code fail does not affect other CRs', async () => {
    const testEnv = await openAppEnvironment({
      dependents: [config],
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
