/**
 * One scorecard run: opens test clusters for the rules, each with the same sample and the operator loaded anew. The
 * requests of all of them are recorded: only together they show which rights an operator uses.
 */
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Dependent } from '../../operator/dependent.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type Child, type ScorecardGround, type ScorecardGroundOptions, openScorecardGround } from './ground.ts'
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
  atRest(seed?: number): Promise<ScorecardGround>
  /** A test cluster before the operator has started. */
  fresh(seed?: number): Promise<ScorecardGround>
  /** How long the operator is observed at rest. */
  readonly restMs: number
  /** The operator's requests on all test clusters so far. */
  readonly requests: readonly Request[]
  closeAll(): Promise<void>
}

/** Skips a rule whose finding another rule has reported already. */
export class Unexamined extends Error {}

export async function openExamination(
  options: ScorecardGroundOptions & Pick<Examination, 'restMs'>,
): Promise<Examination> {
  const operator = await options.load()
  const open: ScorecardGround[] = []
  const requests: Request[] = []

  const fresh = async (seed = 1): Promise<ScorecardGround> => {
    const ground = await openScorecardGround({ ...options, seed })
    open.push(ground)
    return ground
  }
  return {
    operator,
    restMs: options.restMs,
    requests,
    fresh,
    async atRest(seed) {
      const ground = await fresh(seed)
      await ground.begin()
      if (!(await ground.rest())) throw new Unexamined('it never comes to rest')
      return ground
    },
    async closeAll() {
      for (const ground of open.splice(0)) {
        await ground.close()
        requests.push(...ground.requests)
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
export function declarationOf(ground: ScorecardGround, child: Child): Dependent<KubeObject> | undefined {
  for (const { controller: name, entries } of ground.ledgers) {
    const entry = entries.find(
      (one) =>
        one.name?.name === child.name &&
        one.name.namespace === child.namespace &&
        one.kind?.endsWith(` ${child.resource.kind}`),
    )
    if (!entry) continue
    const controller = ground.operator.controllers.find((one) => one.name === name)
    return controller?.resources.find(({ id }) => entry.subject === id || entry.subject.startsWith(`${id}[`))
  }
  return undefined
}

/** Declared as created once and never updated. */
export function isLeftAlone(ground: ScorecardGround, child: Child): boolean {
  const policy = declarationOf(ground, child)?.policy
  return policy === 'create-only' || policy === 'ignore'
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
  readonly troubles: readonly string[]
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
    troubles: bad.map(({ type, status: is, reason = '', message = '' }) => `${type} ${is} ${reason}: ${message}`),
  }
}
