import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { documentedDefaults } from './documented-defaults.ts'

/** Defaults that the comparison cannot decide, compared by hand: where and how the code states each. */
const comparedByHand: Readonly<Record<string, string>> = {
  // Texts of a configuration file, read by name.
  'SidecarConfig.intervalMs': 'src/sidecar/config.ts reads "2s" if the file has no interval',
  'SidecarConfig.concurrency': 'src/sidecar/config.ts reads 1 if the file has none',
  'SidecarConfig.remember': 'src/sidecar/config.ts reads 100 if the file has none',
  'Connection.namespace': 'each source of a connection fills it in: load-connection.ts, in-cluster.ts',
  'ChartHook.weight': 'weightOf in the same file: an annotation that is no number is 0',
  // One value of several is tested for; every other value, and none, is the default.
  'KustomizationOptions.reorder': 'anything but "none" is legacy',
  'ServerAccessOptions.authorization': 'anything but "AlwaysAllow" is RBAC',
  'Validation.subresource': 'only "status" is treated differently',
  // Absent is falsy, in a place whose type the comparison does not follow.
  'GivenOperator.isOptional': 'loader.ts tests isOptional !== true of destructured items',
  'ServerSideApplyOptions.createOnly': 'create-client.ts tests it in a function typed by its interface',
  'ClientOptions.flow': 'flowOf in the same file: no flow control without one',
  'Generator.takesAny': 'generate.ts tests it of an item of its table',
  'Command.verbatim': 'main.ts tests it of an item of the table of commands',
  'ControllerOptions.foreign': 'conclusion.ts and interruption.ts test === true of the options of a Controller',
  'Command.endsAtOnce': 'main.ts tests it of an item of the table of commands',
  'AdmissionRequest.isByUpdate': 'create-by-update.ts tests it in a function typed by its interface',
  // Passed on: the default is stated by what receives it.
  'RequestOptions.timeoutMs': 'ClientOptions.timeoutMs, which is compared',
  'HeldAllOptions.managedFields': 'all in held-tracker.ts, typed by the interface HeldObjects',
  'ListOptions.limit': 'ClientOptions.pageSize, which is compared',
  'HeldPageOptions.limit': 'ClientOptions.pageSize, which is compared',
  'ApiServerOptions.history': 'StorageOptions.history, which is compared',
  'ApiServerOptions.historyBytes': 'StorageOptions.historyBytes, which is compared',
  'TestControlPlaneOptions.port': 'passed to startListener, whose port is compared',
  'InputTrackerOptions.ownWrites': 'SubscribeOptions.ownWrites, which is compared',
  'ChartRequest.source': 'the last parameter of loadChart',
  'RequestSources.hasLargerStack': 'TemplateOptions.hasLargerStack: render-templates.ts states false',
  'SourceRequest.skipSchemaValidation': 'ChartRequest.skipSchema, which is compared',
  'LiveCommandOptions.timeoutMs': 'exec in live-calls.ts, typed by the interface Live',
  // Stated below a spread of what is given.
  'QueueOptions.dynamicPriority': 'createQueueState in the same file states true',
  'QueueOptions.preemption': 'createQueueState in the same file states false',
  'QueueOptions.reserveAfterMs': 'createQueueState in the same file states 300_000',
  'QueuedWorkload.preemptible': 'preemption.ts tests === false of a planned victim',
  // Computed.
  'TaskRunnerOptions.concurrency': 'one by one if virtual time waits for tasks, else 4',
  'CelOverload.cost': 'a function; without one a call costs 1',
  'EmbeddedSet.missing': 'embedded-updater.ts tests for "report" only, of a set that a function of the author returns',
}

describe('documented defaults', () => {
  const defaults = documentedDefaults(path.resolve(import.meta.dirname, '../..'))

  it('match the code', () => {
    const wrong = defaults.filter(({ documented, stated }) => stated.some((value) => value !== documented))
    const texts = wrong.map(
      ({ where, documented, stated }) => `${where}: documented ${documented}, stated ${stated.join(', ')}`,
    )
    expect(texts).toEqual([])
  })

  it('are compared, or listed with the place that states them', () => {
    const undecided = defaults.filter(({ stated }) => stated.length === 0).map(({ where }) => where.split(' ')[1]!)
    expect(undecided.toSorted()).toEqual(Object.keys(comparedByHand).toSorted())
    expect(defaults.length - undecided.length).toBeGreaterThanOrEqual(150)
  })
})
