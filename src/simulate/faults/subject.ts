/**
 * What is simulated: a program that reconciles CRs and can be restarted. Operators made with the kit run on a manager,
 * as in production; anything else that uses a client and a cache can be a subject, too.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { PolicyRule } from '../../apiserver/access/policy-rule.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { electLeader } from '../../manager/leases/election.ts'
import { leaderTerm } from '../../manager/leases/term.ts'
import { createManager } from '../../manager/hosting/manager.ts'
import type { TaskRunner } from '../../manager/tasks/task-runner.ts'
import type { Kind } from '../../operator/kind/kind.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Dependent } from '../../operator/dependent/dependent.ts'
import { roleOf } from '../../operator/role.ts'
import type { HashScope } from '../../operator/dependent/scope.ts'
import { sampleTable } from '../environment/world.ts'
import type { LeaseSeat } from './lease-observer.ts'

export interface SimulatedSubject {
  /** Its field manager. */
  readonly name: string
  /** The kinds to install first. */
  readonly kinds: readonly Kind[]
  /** The kinds of its CRs. */
  readonly controls: readonly Resource[]
  /** Its other outputs. */
  readonly outputs: readonly Resource[]
  /** The rules of its role. */
  readonly rules: readonly PolicyRule[]
  /**
   * The fields of an object (`secrets default/sample`) that it corrects, as its author declares; `false`: it creates
   * the object once and never updates it. @default all of every object
   */
  keeps?(object: string): HashScope | false
  /** A new process, with an empty memory. */
  spawn(): SubjectProgram | Promise<SubjectProgram>
}

/** Starts working; resolves when its caches are filled. */
type SubjectProgram = (around: SubjectEnvironment) => Promise<RunningSubject>

export interface SubjectEnvironment {
  readonly client: Client
  readonly cache: SharedCache
  readonly clock: Clock
  readonly random: Random
  readonly live: Live
  readonly tasks: TaskRunner
  /** The settings of its leader election; undefined: there is no election. */
  readonly seat: LeaseSeat | undefined
  /** Called for each reconcile, if the subject has ledgers. */
  readonly onLedger: (ledger: Ledger) => void
}

export interface RunningSubject {
  stop(): Promise<void>
}

/** Loads the operator anew, without the memory of an earlier instance. */
type LoadSubject = () => Operator | Promise<Operator>

/** An operator on a manager. */
export async function operatorSubject(load: LoadSubject): Promise<SimulatedSubject> {
  const first = await load()
  const declared = new Map<string, Dependent<KubeObject>>()
  const noteDeclared = ({ controller: name, entries }: Ledger): void => {
    const resources = first.controllers.find((one) => one.name === name)?.dependents ?? []
    for (const { subject, name: at } of entries) {
      const resource = at && resources.find(({ id }) => subject === id || subject.startsWith(`${id}[`))
      if (resource)
        declared.set(`${sampleTable(resource.kind)} ${at.namespace ? `${at.namespace}/` : ''}${at.name}`, resource)
    }
  }
  return {
    name: first.name,
    kinds: first.kinds,
    controls: first.controllers.map(({ kind }) => kind),
    outputs: first.outputs,
    rules: roleOf(first).rules ?? [],
    // Scenarios run without faults first: by then every object has been in a ledger.
    keeps(object) {
      const { policy, scope = {} } = declared.get(object) ?? {}
      return policy === 'create-only' || policy === 'ignore' || policy === 'share' ? false : scope
    },
    async spawn() {
      const operator = await load()
      return (around) => {
        const onLedger = (ledger: Ledger): void => {
          noteDeclared(ledger)
          around.onLedger(ledger)
        }
        return runOn({ ...around, onLedger }, operator)
      }
    },
  }
}

/**
 * An operator on a manager of its own; with a lease seat it is a replica that works while it leads, as in
 * `src/manager/runtime`.
 */
export async function runOn(around: SubjectEnvironment, operator: Operator): Promise<RunningSubject> {
  const { client, cache, clock, random, live, tasks, onLedger, seat } = around
  const manager = createManager({ client, cache, clock, live, tasks, onLedger })
  if (!seat) {
    await manager.add(operator)
    return manager
  }
  const election = electLeader({
    client,
    random,
    ...seat,
    onChange({ isLeader }) {
      if (isLeader) manager.resume(undefined, 'standby')
      else manager.pause(undefined, 'standby')
    },
  })
  await manager.add(operator, {
    term: leaderTerm(election, clock),
    writeTimeoutMs: seat.leaseDurationMs - seat.renewDeadlineMs,
    paused: 'standby',
  })
  return {
    async stop() {
      await manager.stop()
      await election.release()
    },
  }
}
