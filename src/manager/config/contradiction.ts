/** Contradictions in a configuration: values that are valid alone but not together. */
import { checkDnsLabel } from '../../kube/meta/name.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject } from '../../kube/json.ts'
import { checkApart, type NameMap } from '../placement/name-map.ts'
import { nameMapOf } from './options-of.ts'
import { durationMs } from './setting-fields.ts'
import type { OperatorSettings, ProgramSettings } from './operator-settings.ts'
import type { Problem } from './problem.ts'
import { leastWeight, type LeaseSettings, localCluster, type Settings } from './settings.ts'

export function contradictions(settings: Settings): readonly Problem[] {
  const { leaderElection, sharding, webhooks } = settings
  const problems: Problem[] = [
    ...leaseProblems('leaderElection', leaderElection),
    ...leaseProblems('sharding', sharding),
    ...nameProblems(settings),
    ...clusterProblems(settings),
    ...hostedProblems(settings),
    ...operatorProblems(settings),
  ]
  if (leaderElection.leaderElect && sharding.enabled) {
    const message = 'replicas either split the work or stand by: turn leaderElection.leaderElect off'
    problems.push({ path: ['sharding', 'enabled'], message })
  }
  // The schema cannot express it: API servers treat the minimum of a number as an integer, and so does the validation
  // here.
  if (sharding.weight < leastWeight) {
    problems.push({ path: ['sharding', 'weight'], message: `${sharding.weight} must be ${leastWeight} or more` })
  }
  if (webhooks.url !== undefined && webhooks.service !== undefined) {
    problems.push({
      path: ['webhooks', 'url'],
      message: 'API servers find webhooks by a URL or a Service, not by both',
    })
  }
  return problems
}

function leaseProblems(name: string, { leaseDuration, renewDeadline, retryPeriod }: LeaseSettings): readonly Problem[] {
  const [lease, renew, retry] = [durationMs(leaseDuration), durationMs(renewDeadline), durationMs(retryPeriod)]
  const at = (key: string, message: string): Problem => ({ path: [name, key], message })
  return [
    ...(lease % 1000 === 0 ? [] : [at('leaseDuration', `${leaseDuration} must be whole seconds`)]),
    ...(renew < lease
      ? []
      : [at('renewDeadline', `${renewDeadline} must be less than leaseDuration, which is ${leaseDuration}`)]),
    ...(retry > 0 ? [] : [at('retryPeriod', `${retryPeriod} must be more than 0`)]),
    ...(renew > 1.2 * retry
      ? []
      : [at('retryPeriod', `${retryPeriod} must be well below renewDeadline, which is ${renewDeadline}`)]),
  ]
}

/** Names that become part of other names: of objects, users, log lines. */
function nameProblems({ clusters, placement, operators }: Settings): readonly Problem[] {
  const check = (path: readonly string[], names: readonly string[]): readonly Problem[] =>
    names.flatMap((name) => checkDnsLabel(name).map((message) => ({ path: [...path, name], message })))
  return [
    ...check(['clusters'], Object.keys(clusters)),
    ...check(['placement', 'hosted'], Object.keys(placement.hosted)),
    ...check(['operators'], Object.keys(operators)),
  ]
}

function clusterProblems({ clusters, placement }: Settings): readonly Problem[] {
  const problems = Object.entries(clusters).flatMap(([name, { kubeconfig, context, secret, inCluster }]) => {
    const path = ['clusters', name]
    const isFile = kubeconfig !== undefined || context !== undefined
    const ways = [isFile && 'kubeconfig', secret !== undefined && 'secret', inCluster && 'inCluster'].filter(Boolean)
    if (name === localCluster)
      return [{ path, message: 'local is the cluster of clientConnection: configure it there' }]
    if (ways.length > 1) return [{ path, message: `set only one of ${ways.join(' and ')}` }]
    return ways.length === 0 ? [{ path, message: 'set one of kubeconfig, context, secret or inCluster' }] : []
  })
  const known = [localCluster, ...Object.keys(clusters)]
  const { hosted, ...roles } = placement
  const check = (path: readonly string[], name: string | undefined): readonly Problem[] =>
    name === undefined ? [] : unknownName(path, name, known)
  return [
    ...problems,
    ...Object.entries(roles).flatMap(([role, name]) => check(['placement', role], name)),
    ...Object.entries(hosted).flatMap(([name, { cluster }]) =>
      check(['placement', 'hosted', name, 'cluster'], cluster),
    ),
    ...Object.entries(hosted).flatMap(([name, { userWorkload }]) =>
      check(['placement', 'hosted', name, 'userWorkload'], userWorkload),
    ),
  ]
}

function unknownName(path: readonly string[], name: string, known: readonly string[]): readonly Problem[] {
  if (known.includes(name)) return []
  const near = nearest(name, known)
  const guess = near === undefined ? `there are ${known.join(', ')}` : `did you mean "${near}"?`
  return [{ path, message: `there is no cluster "${name}"; ${guess}` }]
}

function hostedProblems({ clusters, placement }: Settings): readonly Problem[] {
  const problems: Problem[] = []
  const maps = new Map<string, NameMap[]>()
  for (const [name, hosted] of Object.entries(placement.hosted)) {
    const { cluster = placement.management } = hosted
    const path = ['placement', 'hosted', name]
    if (Object.hasOwn(clusters, name) || name === localCluster) {
      problems.push({ path, message: 'a cluster of that name exists already' })
    }
    try {
      const map = nameMapOf(name, hosted)
      const others = maps.get(cluster) ?? []
      checkApart([...others, map])
      maps.set(cluster, [...others, map])
    } catch (error) {
      if (!isMusterError(error, managerErrors.InvalidNameMap)) throw error
      problems.push({ path: [...path, 'rules'], message: error.message.replace(/\.$/, '') })
    }
  }
  return problems
}

function operatorProblems({ clusters, placement, operators }: Settings): readonly Problem[] {
  const places = [localCluster, ...Object.keys(clusters), ...Object.keys(placement.hosted)]
  return Object.entries(operators).flatMap(([name, { gates, budgets, clusters: served = [] }]) => {
    const path = ['operators', name]
    const problems: Problem[] = served.flatMap((cluster, at) =>
      unknownName([...path, 'clusters', String(at)], cluster, places),
    )
    if (durationMs(gates.debounce) > durationMs(gates.debounceMax)) {
      const message = `${gates.debounce} must not be more than debounceMax, which is ${gates.debounceMax}`
      problems.push({ path: [...path, 'gates', 'debounce'], message })
    }
    if (durationMs(budgets.runTimeout) <= 0) {
      problems.push({ path: [...path, 'budgets', 'runTimeout'], message: 'it must be more than 0' })
    }
    const { program } = operators[name]!
    if (program) problems.push(...programProblems(path, operators[name]!, program))
    return problems
  })
}

const usual = { isolation: 'inline', memory: '256Mi', runTimeout: '5m', concurrency: 8 } as const

/** A setting that a program does not support is refused and not ignored: its user relies on it. */
function programProblems(
  path: readonly string[],
  { from, isolation, outside, namespaces, config, configFrom, gates, budgets, identity }: OperatorSettings,
  program: ProgramSettings,
): readonly Problem[] {
  const { timeout, resync, live, env, folder, readable } = program
  const refused: readonly (readonly [boolean, readonly string[], string])[] = [
    [from !== undefined, ['from'], 'set either from or program, not both'],
    [
      isolation !== usual.isolation && isolation !== 'process',
      ['isolation'],
      'a program always runs in a sandboxed process of its own',
    ],
    [namespaces !== undefined, ['namespaces'], 'a program declares itself what it reads (input-resources)'],
    [
      !isJsonObject(config) || Object.keys(config).length > 0,
      ['config'],
      'a program has no settings of its own here: give them as program.args or program.env',
    ],
    [configFrom !== undefined, ['configFrom'], 'a program has no settings of its own here'],
    [
      gates.concurrency !== usual.concurrency && gates.concurrency !== 1,
      ['gates', 'concurrency'],
      'a program reconciles everything at once, so it does not run concurrently',
    ],
    [budgets.memory !== usual.memory, ['budgets', 'memory'], 'use program.memory for a program'],
    [budgets.runTimeout !== usual.runTimeout, ['budgets', 'runTimeout'], 'use program.timeout for a program'],
    [durationMs(timeout) <= 0, ['program', 'timeout'], 'it must be more than 0'],
    [durationMs(resync) <= 0, ['program', 'resync'], 'it must be more than 0'],
    [folder.includes('\0'), ['program', 'folder'], 'not a valid path'],
    [readable.some((each) => each.includes('\0')), ['program', 'readable'], 'not a valid path'],
    [
      live && identity.serviceAccount === undefined,
      ['program', 'live'],
      'its kubeconfig needs an account: set identity.serviceAccount',
    ],
    [!live && outside.length > 0, ['outside'], 'only a program with program.live can make calls'],
  ]
  return [
    ...refused.flatMap(([is, at, message]) => (is ? [{ path: [...path, ...at], message }] : [])),
    ...Object.entries(env).flatMap(([key, value]) => {
      const at = [...path, 'program', 'env', key]
      if (!/^[A-Za-z_]\w*$/.test(key)) return [{ path: at, message: 'not a valid name of an environment variable' }]
      return value.includes('\0') ? [{ path: at, message: 'must be a string' }] : []
    }),
    ...outside
      .filter((origin) => !/^https?:\/\/(?:\*\.)?(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d{1,5})?$/.test(origin))
      .map((origin) => ({
        path: [...path, 'outside', String(outside.indexOf(origin))],
        message: `"${origin}" is not a valid origin for a proxy, such as https://*.example.com:8443`,
      })),
  ]
}
