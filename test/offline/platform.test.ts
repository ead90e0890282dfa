/** The stories of the Platform on the embedded server; `test/real/platform.test.ts` has the same ones on kube-apiserver. */
import { describe, expect, it } from 'vitest'
import { platformCases } from '../platform-cases.ts'
import { platformEnvironment } from '../platform-environment.ts'

describe('on the embedded server', () => {
  it.each(platformCases)('$title', async ({ expectStory }) => {
    const env = await platformEnvironment()
    await expectStory(Object.assign(env, { now: () => env.clock.now() }))
  })
})

describe('a Platform at rest', () => {
  it('sends nothing for a day but watches, and nothing but reads of its kinds after a restart', async () => {
    const env = await platformEnvironment()
    await env.offer('base', '1.0.0')
    await env.offer('top', '1.0.0', { requires: [{ component: 'base' }] })
    await env.declare([{ name: 'base' }, { name: 'top' }, { name: 'unknown' }])
    await env.shows('top', { state: 'Ready' })
    // Events of the installation are sent in the minutes after it.
    await env.clock.advance(600_000)
    const { length } = env.sent
    await env.clock.advance(24 * 3_600_000)
    expect(env.sent.slice(length)).toEqual([])
    await env.restart()
    await env.settle(60_000)
    expect(env.sent.slice(length).filter(({ method }) => method !== 'GET')).toEqual([])
  })
})
