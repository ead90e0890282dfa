import { describe, expect, it } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Application, ApplicationAccess } from '../lifecycle/application.ts'
import { shorten } from '../lifecycle/status.ts'
import { Secret } from '../../kube/kinds.ts'
import { offline } from '../live.ts'
import { withSecretReads } from '../view/secret-redaction.ts'
import type { View } from '../view/view.ts'
import { observeLife } from './life.ts'
import { ReconcileRun } from './run.ts'
import { noMemory, type ReconcileSituation } from './situation.ts'

type Controller = ReconcileSituation<KubeObject>['controller']

describe('the message of an application', () => {
  it('is masked before it is truncated for the status', async () => {
    const value = 's3cr3t-'.repeat(300)
    const secret = { data: { key: Buffer.from(value).toString('base64') } }
    const application: Partial<Application<KubeObject>> = {
      observe({ view }: ApplicationAccess<KubeObject>) {
        view.get(Secret, { name: 's', namespace: 'default' })
        const message = `${'x'.repeat(1000)} ${value}`
        return Promise.resolve({ reachable: true, state: 'up', actions: [{ key: 'k', state: 'failed', message }] })
      },
    }
    const options = { application } as Partial<Controller['options']> as Controller['options']
    const situation: Partial<ReconcileSituation<KubeObject>> = {
      operator: 'o',
      controller: {
        name: 'c',
        dependents: [],
        declaredInputs: [],
        timeoutMs: 60_000,
        options,
      } as Partial<Controller> as Controller,
      cr: { apiVersion: 'v1', kind: 'App', metadata: { name: 'a' } },
      view: withSecretReads({ get: () => secret } as Partial<View> as View),
      clock: systemClock,
      live: offline,
      memory: noMemory,
    }
    const run = new ReconcileRun(situation as ReconcileSituation<KubeObject>)
    await observeLife(run)
    expect(run.observed?.actions.map(({ message = '' }) => shorten(message))).toEqual([`${'x'.repeat(1000)} ***`])
  })
})
