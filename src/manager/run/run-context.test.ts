import { describe, expect, it } from 'vitest'
import { app, App } from '../../../test/app-operator.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { Live } from '../../operator/live.ts'
import { openView } from '../../operator/view/view.ts'
import { RunContext } from './run-context.ts'
import { noObserver, type ObservedRun } from './run-observer.ts'

const cr = app('a')
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'default' },
  stringData: { password: 'open sesame' },
}

function open(options: { readonly isHeld?: () => boolean; readonly observed?: ObservedRun } = {}): RunContext {
  const objects: readonly KubeObject[] = [secret]
  const source = { get: () => secret, list: () => objects, byOwner: () => objects, serves: () => true }
  return new RunContext({
    key: 'default/a',
    cr,
    view: openView({ source, reader: 'kit', inputs: [App, ConfigMap, Secret] }),
    origin: 0,
    hasReason: true,
    isHeld: options.isHeld,
    observed: options.observed ?? noObserver.begin('app', 'default/a'),
    about: () => ({ operator: 'kit', controller: 'app', key: 'default/a', at: 0 }),
  })
}

const live: Live = {
  available: true,
  exec: () => Promise.resolve({ exitCode: 0, stdout: 'exec', stderr: '' }),
  http: () => Promise.resolve({ status: 200, headers: {}, body: 'http', json: () => null }),
}

describe('the context of a run', () => {
  it('allows no command and no call after the end of its term', async () => {
    let isOurs = true
    const fenced = open({ isHeld: () => isOurs }).live(live)
    expect(await fenced.exec({ name: 'pod' }, ['true'])).toMatchObject({ stdout: 'exec' })
    expect(await fenced.http({ url: 'http://app' })).toMatchObject({ body: 'http' })
    isOurs = false
    await expect(fenced.exec({ name: 'pod' }, ['true'])).rejects.toMatchObject({ name: 'TermOver' })
    await expect(fenced.http({ url: 'http://app' })).rejects.toMatchObject({ name: 'TermOver' })
  })

  it('keeps each finding once, without the values of Secrets that the run has read', () => {
    const run = open()
    run.view.list(Secret)
    run.find('contested', 'it says open sesame')
    run.onFinding({
      kind: 'severalWrites',
      object: { kind: 'v1 ConfigMap', name: { name: 'c' } },
      subjects: [],
      fields: [],
      message: 'open sesame twice',
    })
    run.find('contested', 'it says open sesame')
    expect(run.findings).toMatchObject([
      { kind: 'contested', message: 'it says ***' },
      { kind: 'severalWrites', message: '*** twice' },
    ])
  })

  it('counts its live calls as time outside, and ends its observation once, with the number of its reads', async () => {
    const seen: unknown[] = []
    const observed: ObservedRun = {
      ...noObserver.begin('app', 'default/a'),
      aside(work) {
        seen.push('aside')
        return work()
      },
      end: (reads) => void seen.push(reads),
    }
    const run = open({ observed })
    await run.live(live).exec({ name: 'pod' }, ['true'])
    run.view.get(Secret, { name: 's', namespace: 'default' })
    run.view.list(Secret)
    run.end()
    run.end()
    expect(seen).toEqual(['aside', 2])
  })
})
