import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { legacyFlags, type LegacyProgram, readLegacyFlags } from './legacy-flags.ts'
import { SettingsDraft } from './settings-draft.ts'
import { workloadsConfig, workloadsName } from './workloads-config.ts'

const read = (program: LegacyProgram, argv: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
  const draft = new SettingsDraft()
  readLegacyFlags({ program, argv, environment }, draft)
  return draft
}

const inSection = (section: string, settings: object): object => ({
  operators: { workloads: { config: { [section]: settings } } },
})

/** What each flag becomes; text: why it becomes nothing. */
const cases: Readonly<Record<LegacyProgram, readonly (readonly [readonly string[], object | string])[]>> = {
  mcad: [
    [['--master', 'https://api:6443'], 'the address of the API server comes from the kubeconfig'],
    [['--kubeconfig', '/etc/kube'], { clientConnection: { kubeconfig: '/etc/kube' } }],
    [['--scheduler', 'volcano'], inSection('appwrapper', { schedulerName: 'volcano' })],
    [['--dispatcher'], 'one manager serves several clusters otherwise: see clusters and placement'],
    [['--agentconfigs', 'a:b'], 'one manager serves several clusters otherwise: see clusters and placement'],
    [['--dynamicpriority'], inSection('mcad', { dynamicPriority: true })],
    [['-preemption=true'], inSection('mcad', { preemption: true })],
    [['-backofftime', '30'], inSection('mcad', { backoffTime: 30 })],
    [['--headoflineholdingtime=5'], inSection('mcad', { headOfLineHoldingTime: 5 })],
    [['--quotaEnabled=1'], inSection('mcad', { quotaEnabled: true })],
    [['--quotaURL', 'http://quota'], 'quota comes from QuotaSubtrees and from queues of Kueue'],
    [['--secure-port', '6443'], 'metrics are served over HTTP on metrics.port'],
    [['--healthProbeListenAddr', ':9081'], { health: { port: 9081 } }],
    [['--dispatchResourceReservationTimeout', '1000'], inSection('mcad', { dispatchResourceReservationTimeout: 1000 })],
    [['--externalDispatch'], 'there are no external dispatchers'],
    [['--v', '4'], { logging: { level: 'debug' } }],
    [['--logtostderr'], {}],
    [['--alsologtostderr'], {}],
    [['--stderrthreshold', 'INFO'], 'the log goes to standard error; its format is logging.format'],
    [['--log_dir', '/var/log'], 'the log goes to standard error; its format is logging.format'],
    [['--log_file', 'x'], 'the log goes to standard error; its format is logging.format'],
    [['--vmodule', 'a=3'], 'the log goes to standard error; its format is logging.format'],
  ],
  instascale: [
    [['--kubeconfig', 'k'], { clientConnection: { kubeconfig: 'k' } }],
    [['--metrics-bind-address', '127.0.0.1:8080'], { metrics: { port: 8080, address: '127.0.0.1' } }],
    [['--health-probe-bind-address', '0'], { health: { port: 0 } }],
    [['--leader-elect'], { leaderElection: { leaderElect: true } }],
    [
      ['--configmap-namespace', 'kube-system'],
      'the ConfigMap instascale-config is not followed: muster migrate codeflare carries it over',
    ],
    [
      ['--configs-namespace', 'kube-system'],
      'the ConfigMap instascale-config is not followed: muster migrate codeflare carries it over',
    ],
    [
      ['--ocm-secret-namespace', 'ocm'],
      inSection('instascale', { ocmSecretRef: { namespace: 'ocm', name: 'instascale-ocm-secret' } }),
    ],
    [['--zap-devel'], 'development logs do not differ: see logging.format'],
    [['--zap-encoder', 'console'], { logging: { format: 'text' } }],
    [['--zap-log-level', '3'], { logging: { level: 'debug' } }],
    [['--zap-stacktrace-level', 'error'], 'errors are logged with their cause'],
    [['--zap-time-encoding', 'iso8601'], 'times are milliseconds, or RFC 3339 in text'],
  ],
  codeflare: [
    [['--kubeconfig', 'k'], { clientConnection: { kubeconfig: 'k' } }],
    [['--zap-devel=true'], 'development logs do not differ: see logging.format'],
    [['--zap-encoder=json'], { logging: { format: 'json' } }],
    [['--zap-log-level=error'], { logging: { level: 'error' } }],
    [['--zap-stacktrace-level=error'], 'errors are logged with their cause'],
    [['--zap-time-encoding=epoch'], 'times are milliseconds, or RFC 3339 in text'],
  ],
}

const settingsOf = (outcome: object | string): object => (typeof outcome === 'string' ? {} : outcome)
const notesOf = (outcome: object | string): readonly string[] => (typeof outcome === 'string' ? [outcome] : [])
const allCases = Object.entries(cases).flatMap(([program, list]) =>
  list.map(([argv, outcome]) => [program as LegacyProgram, argv, outcome] as const),
)

describe('flags of MCAD, InstaScale and the CodeFlare operator', () => {
  it.each(allCases)('%s %j', (program, argv, outcome) => {
    const { settings, notes } = read(program, argv)
    expect(settings).toEqual(settingsOf(outcome))
    expect(notes.map(({ why }) => why)).toEqual(notesOf(outcome))
    const valid = () =>
      readConfiguration([{ source: 'flags', value: settings }], [{ name: workloadsName, config: workloadsConfig }])
    expect(valid).not.toThrow()
  })

  it('are all tested here', () => {
    for (const [program, flags] of Object.entries(legacyFlags)) {
      const tested = cases[program as LegacyProgram].map(([[word = '']]) => word.replace(/^--?|=.*/g, ''))
      expect(tested.toSorted()).toEqual(Object.keys(flags).toSorted())
    }
  })

  it.each([
    ['DISPATCHER_MODE', 'TRUE', {}],
    ['DISPATCHER_AGENT_CONFIGS', 'a:b', {}],
    ['DYNAMICPRIORITY', 'true', inSection('mcad', { dynamicPriority: true })],
    ['PREEMPTION', 'True', inSection('mcad', { preemption: true })],
    ['BACKOFFTIME', '7', inSection('mcad', { backoffTime: 7 })],
    ['HEADOFLINEHOLDINGTIME', '8', inSection('mcad', { headOfLineHoldingTime: 8 })],
    ['QUOTA_ENABLED', 'true', inSection('mcad', { quotaEnabled: true })],
    ['QUOTA_REST_URL', 'http://quota', {}],
    ['DISPATCH_RESOURCE_RESERVATION_TIMEOUT', '9', inSection('mcad', { dispatchResourceReservationTimeout: 9 })],
    ['EXTERNAL_DISPATCH', 'true', {}],
  ] as const)('the variable %s=%s', (name, value, settings) => {
    expect(read('mcad', [], { [name]: value }).settings).toEqual(settings)
  })

  it('win over variables; a variable that is not valid counts as absent, and is named', () => {
    const { settings, notes } = read('mcad', ['--backofftime', '30'], { BACKOFFTIME: '10', PREEMPTION: 'perhaps' })
    expect(settings).toEqual(inSection('mcad', { backoffTime: 30 }))
    expect(notes).toMatchObject([
      { field: 'PREEMPTION', why: '"perhaps" is not true or false: --preemption keeps its default, as before' },
      { field: 'BACKOFFTIME', why: 'flags of mcad, --backofftime has another value, which counts' },
    ])
  })

  it.each([
    [['--backoftime', '3'], flagErrors.UnknownFlag, 'Did you mean "--backofftime"?'],
    [['--backofftime', 'soon'], flagErrors.InvalidFlag, '--backofftime soon: it must be an integer.'],
    [['--backofftime'], flagErrors.InvalidFlag, '--backofftime needs a value.'],
    [['--preemption=maybe'], flagErrors.InvalidFlag, 'it must be true or false'],
    [['run'], flagErrors.InvalidFlag, '"run": mcad takes flags'],
    [['--constructor'], flagErrors.UnknownFlag, 'mcad has no flag "--constructor"'],
  ] as const)('refuse %j', (argv, { code }, message) => {
    expect(() => read('mcad', argv)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) as string }) as Error,
    )
  })

  it('leave what is no address to its default, and name it', () => {
    const { settings, notes } = read('mcad', ['--healthProbeListenAddr', 'everywhere'])
    expect(settings).toEqual({} satisfies JsonObject)
    expect(notes).toMatchObject([{ field: '--healthProbeListenAddr', why: '"everywhere" is no address such as :8080' }])
  })
})
