/**
 * One examination: grounds are opened for the rules, as many as they need, each with the same sample and the operator
 * loaded anew. What was sent on any of them is remembered: what an operator uses of its role shows only in all of it.
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
  /** What was seen, in a sentence. */
  readonly evidence: string
}

export interface Rule {
  readonly name: string
  /** What it asks of an operator. */
  readonly asks: string
  run(examination: Examination): Promise<RuleFinding>
}

export interface Examination {
  /** For what it declares. */
  readonly operator: Operator
  /** A ground of one's own, on which the operator is at rest; closed when the rule is done. Another seed is another chance. */
  atRest(seed?: number): Promise<ScorecardGround>
  /** The same, before anything has begun. */
  fresh(seed?: number): Promise<ScorecardGround>
  /** How long it is watched at rest. */
  readonly restMs: number
  /** What the operator sent on all grounds so far. */
  readonly requests: readonly Request[]
  closeAll(): Promise<void>
}

/** Why a rule has nothing to say: another one has said it already. */
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

/** The first few of them, in words; the rest counted. */
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

/** What the author declared about a child; undefined for what a free-style controller makes. */
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

/** Written once and then left to itself, as declared. */
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

export interface ExaminationReport {
  readonly generation: number
  readonly observedGeneration: number | undefined
  readonly conditions: readonly ConditionLike[]
  /** Says that all is well, and nothing else. */
  readonly isReady: boolean
  /** `Ready False Waiting: …`, of those that are not true; the reason is one word. */
  readonly troubles: readonly string[]
}

const positive: ReadonlySet<string> = new Set(['Ready', 'Available', 'Reconciled'])

/** What a CR says of itself. */
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
