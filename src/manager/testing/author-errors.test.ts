/** An error of author code: its file, line and stack are in the log, and nowhere else. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  App as AppKind,
  app,
  type AppController,
  appOperator,
  conditionsOf,
  openAppEnvironment,
} from '../../../test/app-operator.ts'
import { ConfigMap, Pod, Secret } from '../../kube/kinds.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { fail } from '../../operator/failure.ts'
import { openTestEnvironment } from './test-environment.ts'
import type { LogLine } from '../logging/log-line.ts'

const here = import.meta.filename

async function failureOf(controller: AppController): Promise<{ readonly line: LogLine; readonly message: string }> {
  const lines: LogLine[] = []
  const testEnv = await openAppEnvironment(controller, { log: (line) => void lines.push(line) })
  await testEnv.create(AppKind, app('a'))
  await testEnv.settle()
  const { Reconciled } = await conditionsOf(testEnv.client, 'a')
  await testEnv.close()
  return { line: lines.find(({ msg }) => msg === 'Reconcile failed')!, message: Reconciled?.message ?? '' }
}

describe('an error that author code throws', () => {
  it('is logged with file, line and stack, and reported without', async () => {
    const { line, message } = await failureOf({
      check() {
        throw new TypeError('no such thing')
      },
    })
    expect(line).toMatchObject({ level: 'error', reason: 'TypeError', error: 'no such thing' })
    expect(line['at']).toMatch(/author-errors\.test\.ts:\d+:\d+$/)
    expect(line['stack']).toContain(`TypeError: no such thing\n`)
    expect(line['stack']).toContain(here)
    expect(message).toBe('CRChecker: no such thing')
  })

  it('is found in a function of a dependent, too', async () => {
    const broken = (): never => {
      throw new Error('broken')
    }
    const { line } = await failureOf({
      dependents: [defineDependent({ for: AppKind, kind: ConfigMap, fromCR: () => broken() })],
    })
    expect(line['at']).toContain(here)
  })

  it('has a line without a stack where the kit explains it: an undeclared read', async () => {
    const { line } = await failureOf({ check: ({ view }) => void view.list(Pod) })
    expect(line).toMatchObject({ reason: 'UndeclaredInput' })
    expect(line['at']).toContain(here)
    expect(line['stack']).toBeUndefined()
  })

  it('has the line of the change where the kit explains it: a frozen object', async () => {
    const { line } = await failureOf({ check: ({ cr }) => void Object.assign(cr.spec, { size: 7 }) })
    expect(line).toMatchObject({ reason: 'FrozenObject' })
    expect(line['at']).toContain(here)
  })

  it('has no Secret in its stack', async () => {
    const data = { token: Buffer.from('tr0ub4dor&3').toString('base64') }
    const secret = defineDependent({ for: AppKind, kind: Secret, initial: { data } })
    const { line } = await failureOf({
      dependents: [secret],
      status({ own }) {
        throw new Error(`cannot log in with ${Buffer.from(own(secret)?.data?.['token'] ?? '', 'base64').toString()}`)
      },
    })
    expect(line['stack']).toContain('cannot log in with')
    expect(JSON.stringify(line)).not.toContain('tr0ub4dor')
  })
})

describe('a test without a log', () => {
  it('prints mistakes of author code, each once, and nothing else', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => write.mockRestore())
    const misspelt = { dta: { text: 'x' } } as { readonly data?: Readonly<Record<string, string>> }
    const mistaken = appOperator({
      dependents: [defineDependent({ for: AppKind, kind: ConfigMap, fromCR: () => misspelt })],
    })
    const decided = appOperator({ check: () => fail('NoLicence', 'there is no licence') })
    for (const operator of [mistaken, decided]) {
      const testEnv = await openTestEnvironment(operator)
      await testEnv.create(AppKind, app('a'))
      await testEnv.settle(60_000)
      await testEnv.close()
    }
    expect(write.mock.calls.map(([text]) => text)).toEqual([
      'kit, controller app, for default/a: InvalidDependent: Dependent configMap, in fromCR: ConfigMap of v1 has no field dta. Did you mean "data"?\n',
    ])
  })
})
