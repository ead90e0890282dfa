import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, listen } from '../../test/loopback.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { startObserver } from './observer.ts'
import type { ProbeSpec } from './probe.ts'

/** An application that answers when the test says so. */
async function scene() {
  const asked: ServerResponse[] = []
  const server = createServer((_request, response) => void asked.push(response))
  const clock = virtualClock()
  const running = new Set<string>()
  const spec: ProbeSpec = {
    kind: 'http',
    url: `http://127.0.0.1:${await listen(server)}/`,
    status: 200,
    path: ['word'],
    // The test moves time while real answers are under way.
    timeoutMs: 1e9,
  }
  const observer = startObserver({
    clock,
    probes: new Map([['app', spec]]),
    rules: [
      { state: 'stopping', action: 'stop' },
      { state: 'running', probe: 'app', word: ['up'] },
      { state: 'ended' },
    ],
    intervalMs: 500,
    environment: {},
    running: () => running,
  })
  onTestFinished(() => observer.close())
  const seen: string[] = []
  observer.onChange(({ state }) => seen.push(state))
  const answer = async (word: string): Promise<void> => {
    await eventually(() => asked.length > 0)
    asked.shift()!.end(JSON.stringify({ word }))
  }
  return { clock, observer, running, seen, asked, answer }
}

describe('an observer', () => {
  it('has no state before the first result', async () => {
    const { observer, seen, answer } = await scene()
    expect(observer.state()).toMatchObject({ state: 'unknown', reachable: false })
    await answer('up')
    await eventually(() => seen.length > 0)
    expect(observer.state()).toMatchObject({ state: 'running', reachable: true })
  })

  it('probes at its interval, and keeps `since` while nothing changes', async () => {
    const { clock, observer, seen, asked, answer } = await scene()
    await answer('up')
    await eventually(() => seen.length === 1)
    const { since } = observer.state()
    await clock.advance(500)
    await answer('up')
    // It is idle again when the next question falls due.
    while (asked.length === 0) await clock.advance(500)
    expect(observer.state().since).toBe(since)
    await answer('down')
    await eventually(() => seen.length === 2)
    expect(seen).toEqual(['running', 'ended'])
    expect(observer.state().since > since).toBe(true)
  })

  it('counts a start at once, and an end only with later probe results', async () => {
    const { clock, observer, running, seen, asked, answer } = await scene()
    await answer('up')
    await eventually(() => seen.length === 1)
    running.add('stop')
    observer.poke('began')
    expect(observer.state().state).toBe('stopping')
    // A question is under way; its answer is from before the end.
    await eventually(() => asked.length === 1)
    running.delete('stop')
    observer.poke('ended')
    expect(observer.state().state).toBe('stopping')
    await answer('up')
    await eventually(() => asked.length === 1)
    expect(observer.state().state).toBe('stopping')
    await answer('down')
    await eventually(() => seen.length === 3)
    expect(seen).toEqual(['running', 'stopping', 'ended'])
    await clock.settle()
  })
})
