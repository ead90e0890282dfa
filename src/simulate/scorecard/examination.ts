/**
 * One scorecard run: opens test clusters for the rules, each with the same sample and the operator loaded anew. The
 * requests of all of them are recorded: only together they show which rights an operator uses.
 */
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Dependent } from '../../operator/dependent/dependent.ts'
import type { KubeObject } from '../../kube/object.ts'
import {
  type Child,
  type ScorecardCluster,
  type ScorecardClusterOptions,
  openScorecardGround,
} from './scorecard-cluster.ts'
import type { Request } from './request.ts'

export type Result = 'passed' | 'warned' | 'failed' | 'skipped'

export interface RuleFinding {
  readonly result: Result
  /** The evidence, in a sentence. */
  readonly evidence: string
}

export interface Rule {
  readonly name: string
  /** What it requires of an operator. */
  readonly asks: string
  run(examination: Examination): Promise<RuleFinding>
}

export interface Examination {
  /** For its declarations. */
  readonly operator: Operator
  /** A test cluster on which the operator is at rest; closed after the rule. Another seed gives other random values. */
  atRest(seed?: number): Promise<ScorecardCluster>
  /** A test cluster before the operator has started. */
  fresh(seed?: number): Promise<ScorecardCluster>
  /** How long the operator is observed at rest. */
  readonly restMs: number
  /** The operator's requests on all test clusters so far. */
  readonly requests: readonly Request[]
  closeAll(): Promise<void>
}

/** Skips a rule whose finding another rule has reported already. */
export class Unexamined extends Error {}

export async function openExamination(
  options: ScorecardClusterOptions & Pick<Examination, 'restMs'>,
): Promise<Examination> {
  const operator = await options.load()
  const open: ScorecardCluster[] = []
  const requests: Request[] = []

  const fresh = async (seed = 1): Promise<ScorecardCluster> => {
    const cluster = await openScorecardGround({ ...options, seed })
    open.push(cluster)
    return cluster
  }
  return {
    operator,
    restMs: options.restMs,
    requests,
    fresh,
    async atRest(seed) {
      const cluster = await fresh(seed)
      await cluster.begin()
      if (!(await cluster.rest())) throw new Unexamined('it never comes to rest')
      return cluster
    },
    async closeAll() {
      for (const cluster of open.splice(0)) {
        await cluster.close()
        requests.push(...cluster.requests)
      }
    },
  }
}

export function passed(evidence: string): RuleFinding {
  return { result: 'passed', evidence }
}

export function failed(evidence: string): RuleFinding {
  return { result: 'failed', evidence }
}

/** The first few texts; the rest is counted. */
export function some(texts: readonly string[], most = 3): string {
  const more = texts.length - most
  return texts.slice(0, most).join('; ') + (more > 0 ? `; and ${more} more` : '')
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`
}

/** `Deployment sample` */
export function named({ object: { kind }, name }: Pick<Child, 'object' | 'name'>): string {
  return `${kind} ${name}`
}

/** The definition of a child; undefined for objects of a `reconcile` function. */
export function declarationOf(cluster: ScorecardCluster, child: Child): Dependent<KubeObject> | undefined {
  for (const { controller: name, entries } of cluster.ledgers) {
    const entry = entries.find(
      (one) =>
        one.name?.name === child.name &&
        one.name.namespace === child.namespace &&
        one.kind?.endsWith(` ${child.resource.kind}`),
    )
    if (!entry) continue
    const controller = cluster.operator.controllers.find((one) => one.name === name)
    return controller?.dependents.find(({ id }) => entry.subject === id || entry.subject.startsWith(`${id}[`))
  }
  return undefined
}

/** Declared as created once and never updated, or as one that other field managers may change. */
export function isLeftAlone(cluster: ScorecardCluster, child: Child): boolean {
  const policy = declarationOf(cluster, child)?.policy
  return policy === 'create-only' || policy === 'ignore' || policy === 'share'
}

interface ConditionLike {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
}

interface ExaminationReport {
  readonly generation: number
  readonly observedGeneration: number | undefined
  readonly conditions: readonly ConditionLike[]
  /** Ready, without any problem. */
  readonly isReady: boolean
  /** `Ready False Waiting: …`: the conditions that are not true. */
  readonly falseConditions: readonly string[]
}

const positive: ReadonlySet<string> = new Set(['Ready', 'Available', 'Reconciled'])

/** The conditions of a CR. */
export function examinationReportOf(cr: UntypedObject): ExaminationReport {
  const status = (cr['status'] ?? {}) as {
    readonly conditions?: readonly ConditionLike[]
    readonly observedGeneration?: number
  }
  const { conditions = [], observedGeneration } = status
  const judged = conditions.filter(({ type }) => positive.has(type))
  const bad = judged.filter((condition) => condition.status !== 'True')
  return {
    generation: cr.metadata.generation ?? 0,
    observedGeneration,
    conditions,
    isReady: judged.length > 0 && bad.length === 0,
    falseConditions: bad.map(
      ({ type, status: is, reason = '', message = '' }) => `${type} ${is} ${reason}: ${message}`,
    ),
  }
}
