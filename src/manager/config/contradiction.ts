/** What is wrong with a configuration only together: values that are in order alone and contradict each other. */
import { checkDnsLabel } from '../../kube/name.ts'
import { nearest } from '../../kube/nearest.ts'
import { isMusterError } from '../../kube/errors.ts'
import { checkApart, type NameMap } from '../placement/name-map.ts'
import { nameMapOf } from './options-of.ts'
import { durationMs } from './setting-fields.ts'
import type { Problem } from './problem.ts'
import { type LeaseSettings, localCluster, type Settings } from './settings.ts'

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
    ...(retry > 0 ? [] : [at('retryPeriod', `${retryPeriod} must be more than nothing`)]),
    ...(renew > 1.2 * retry
      ? []
      : [at('retryPeriod', `${retryPeriod} must be well below renewDeadline, which is ${renewDeadline}`)]),
  ]
}

/** Names that become part of others: of objects, users, lines of logs. */
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
    if (name === localCluster) return [{ path, message: 'that is the cluster of clientConnection: say it there' }]
    if (ways.length > 1) return [{ path, message: `it is reached in one way, not by ${ways.join(' and ')}` }]
    return ways.length === 0
      ? [{ path, message: 'say how it is reached: kubeconfig, context, secret or inCluster' }]
      : []
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
      problems.push({ path, message: 'a cluster of that name is there already' })
    }
    try {
      const map = nameMapOf(name, hosted)
      const others = maps.get(cluster) ?? []
      checkApart([...others, map])
      maps.set(cluster, [...others, map])
    } catch (error) {
      if (!isMusterError(error, 'InvalidNameMap')) throw error
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
      problems.push({ path: [...path, 'budgets', 'runTimeout'], message: 'it must be more than nothing' })
    }
    return problems
  })
}
