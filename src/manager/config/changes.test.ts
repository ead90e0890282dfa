import { describe, expect, it } from 'vitest'
import { changesBetween, type Effect } from './changes.ts'
import { readConfiguration } from './configuration.ts'
import { flagLayer } from './override.ts'

const configured = (...flags: readonly string[]): ReturnType<typeof readConfiguration> =>
  readConfiguration([flagLayer(['operators.a.enabled=true', ...flags])])

describe('a change of the configuration', () => {
  it.each<[string, Effect, string | undefined]>([
    ['paused=true', 'live', undefined],
    ['logging.level=debug', 'live', undefined],
    ['tracing.sampleRatio=0.5', 'live', undefined],
    ['tracing.endpoint=http://collector:4318', 'restart', undefined],
    ['leaderElection.leaderElect=true', 'restart', undefined],
    ['sharding.enabled=true', 'restart', undefined],
    ['clusters.edge.context=edge', 'operator', undefined],
    ['placement.hosted.a.shared=x.example.com/v1', 'operator', undefined],
    ['concurrency=3', 'live', undefined],
    ['clientConnection.qps=5', 'restart', undefined],
    ['metrics.port=1', 'restart', undefined],
    ['operators.a.paused=true', 'live', 'a'],
    ['operators.a.gates.debounce=1s', 'live', 'a'],
    ['operators.a.budgets.memory=1Gi', 'operator', 'a'],
    ['operators.a.config={"x":1}', 'operator', 'a'],
    ['operators.a.enabled=false', 'operator', 'a'],
    ['operators.a.from=./other.ts', 'operator', 'a'],
    ['operators.b.paused=true', 'operator', 'b'],
  ])('%s takes effect: %s', (flag, effect, operator) => {
    const changes = changesBetween(configured(), configured(flag))
    expect(changes).toHaveLength(1)
    expect(changes[0]).toMatchObject({ effect, operator })
    const path = flag.slice(0, flag.indexOf('=')).split('.')
    const length = Math.min(path.length, changes[0]!.path.length)
    expect(path.slice(0, length)).toEqual(changes[0]!.path.slice(0, length))
  })

  it('is empty where nothing differs, and symmetric', () => {
    expect(changesBetween(configured(), configured())).toEqual([])
    const [one, other] = [configured('metrics.port=1', 'operators.b.enabled=true'), configured('health.port=2')]
    const there = changesBetween(one, other).map(({ path }) => path.join('.'))
    expect(there.toSorted()).toEqual(['health.port', 'metrics.port', 'operators.b'])
    expect(
      changesBetween(other, one)
        .map(({ path }) => path.join('.'))
        .toSorted(),
    ).toEqual(there.toSorted())
  })
})
