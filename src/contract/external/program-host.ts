/**
 * The host of an operator that is a program, in any language. To the manager it is one host among others, with a lane,
 * gates, a lease term, findings and a ledger for each run.
 *
 *     caches ─▶ directory ─▶ program (sandboxed) ─▶ output ─▶ checked ─▶ carried out
 *
 * A program reads all inputs at once, so there is one key and one run at a time, triggered by changes of declared
 * inputs. A run that crashes, times out or leaves an invalid output changes nothing. A run in which some controllers
 * failed is a partial success: the writes of the others are carried out, and the run is retried.
 *
 * Each run starts the file anew. So a new version needs no restart: the host notices the changed file, reads its
 * declarations, and runs it.
 */
import path from 'node:path'
import type { Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { contractErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { noObserver, type ObservedRun, type Outcomes } from '../../manager/run/run-observer.ts'
import type { OperatorHost, OperatorHostOptions } from '../../manager/hosting/host.ts'
import { maskText, meetSecrets } from '../../manager/plan/mask.ts'
import { openGates } from '../../manager/gates/gate-options.ts'
import { createScheduler } from '../../manager/schedule/scheduler.ts'
import { withoutSecrets } from '../../manager/run/secret-errors.ts'
import { kindText } from '../../operator/dependent/entry.ts'
import { countFailure, failureOf, type Failures, noFailures, reconcileRetryDelay } from '../../operator/failure.ts'
import { type Effort, type Ledger, type LedgerEntry, isWrite, logLine } from '../../operator/ledger.ts'
import { mutationName, type MutationOutcome, type Wave } from '../../operator/plan.ts'
import type { PlacementRole } from '../../operator/placement-role.ts'
import type { InputChange } from '../../operator/view/view.ts'
import { type GatherFolder, openGatherFolder } from '../directory/gather-folder.ts'
import { type ClusterFolder, unspecifiedFolder } from '../declaration/mutation.ts'
import {
  type InputResources,
  type OutputResources,
  readInputResources,
  readOutputResources,
} from '../declaration/resource-list.ts'
import {
  executeMutations,
  type ExecuteOptions,
  type CheckedMutations,
  checkMutations,
  severalWrites,
  type MutationTarget,
} from './execute-mutations.ts'
import { programVersion } from './program.ts'
import { isDryRunMutation } from './deletion.ts'
import { createProgramFindings } from './program-findings.ts'
import { openProgramInputs, type ProgramInputs } from './program-inputs.ts'
import { entryOf, ledgerMutationOf, mutationObjectKey } from './program-ledger.ts'
import { askProgram, discard, type HostedProgram, runOnce } from './program-run.ts'
import { openProgramFolder } from './programs-folder.ts'

/** One key: a program reads all inputs at once. */
const theRun = 'run'
/** The controller name of its ledgers: only the results of a run name its controllers. */
const controller = 'program'
const replaced = 'there is another version of it than the one that was started'
/** The run interval of a program in a hot loop. */
const throttleMs = 60_000
/** The interval of the check for a new version. */
const versionCheckMs = 2000

const roles: Readonly<Record<ClusterFolder, PlacementRole>> = {
  Configuration: 'configuration',
  Management: 'management',
  UserWorkload: 'userWorkload',
}

interface Declared {
  /** Of the program. */
  readonly version: string
  readonly inputs: InputResources
  readonly outputs: OutputResources
}

export function hostProgram(hosted: HostedProgram, options: OperatorHostOptions): OperatorHost {
  const {
    operator,
    client,
    cache,
    clock = systemClock,
    log = () => undefined,
    term,
    metrics,
    observer = noObserver,
  } = options
  const { name } = operator
  const { resyncMs = 600_000 } = hosted
  const lane =
    options.lane ??
    createScheduler({ clock, concurrency: 1 }).openLane(name, {
      ...openGates,
      concurrency: 1,
      debounce: { quietMs: 200, maxMs: 2000 },
    })
  const at = (one = { client, cache }): MutationTarget => ({ client: one.client, writer: one.cache.writer(name) })
  const targets: Readonly<Record<ClusterFolder, MutationTarget>> = {
    Configuration: at(options.placement?.configuration),
    Management: at(options.placement?.management),
    UserWorkload: at(options.placement?.userWorkload),
  }
  const targetOf = (folder: ClusterFolder): MutationTarget => targets[folder]
  /** Whether the mutation targets the cluster that the program reads from. */
  const isHere = ({ read }: CheckedMutations): boolean => {
    const { placement } = options
    const role = roles[read.folder as ClusterFolder]
    return !placement || placement[role].name === placement.configuration.name
  }
  const stopping = new AbortController()
  const around = { name, clock, signal: stopping.signal }
  /** The resourceVersions of its own writes, by object: another version means a foreign change. */
  const ownVersions = new Map<string, string>()
  /** The resources that it wrote, by their kind in a ledger. */
  const writtenKinds = new Map<string, Resource>()
  let folder: string | undefined
  let gather: GatherFolder
  let declared: Declared | undefined
  /** The last version found on disk, whether its declarations could be read or not. */
  let seenVersion = ''
  /** The version whose declarations could not be read. */
  let failedVersion: string | undefined
  let inputs: ProgramInputs | undefined
  let isStarted = false
  let versionTimer: Timer | undefined
  let failures: Failures = noFailures
  /** Counts foreign changes of its inputs. */
  let generation = 0
  let waiting: string | undefined
  /** The next run without a change. */
  let dueAt = 0

  lane.serve(async () => {
    try {
      await work()
    } catch (error) {
      if (!stopping.signal.aborted) end({ ...openLedger(), failure: failureOf(error, 'Prepare', 'program') })
    }
  })

  const findings = createProgramFindings({
    ...options,
    operator: name,
    clock,
    signal: stopping.signal,
    resourceOf: (kind) => writtenKinds.get(kind),
    // Throttled until an input changes.
    onRepetition: () => lane.hold(theRun, throttleMs),
  })

  // ── declarations ───────────────────────────────────────────────────────────────────────────────────────────

  /** Undefined: the host is stopping. */
  async function declare(): Promise<ProgramInputs | undefined> {
    const version = (seenVersion = programVersion(hosted.program))
    if (declared?.version !== version) {
      const isReplaced = declared !== undefined
      failedVersion = version
      declared = { version, ...(await readDeclarations()) }
      failedVersion = undefined
      close()
      dueAt = 0
      if (isReplaced) log({ msg: 'Operator program replaced', operator: name })
    }
    inputs ??= await openProgramInputs({
      operator,
      list: declared.inputs.applyConfigurationResources,
      client,
      cache,
      clock,
      folder: gather,
      onChange,
      onLoaded: () => trigger(),
      onKinds(how) {
        close()
        client.discovery.invalidate()
        // A deleted CRD is still served for a moment.
        if (how === 'came') trigger()
        else lane.addAfter(theRun, 1000, 'resync')
      },
      log,
      signal: stopping.signal,
    })
    if (stopping.signal.aborted) close()
    return inputs
  }

  async function readDeclarations(): Promise<Omit<Declared, 'version'>> {
    return {
      inputs: await askProgram('input-resources', hosted, around, readInputResources),
      outputs: await askProgram('output-resources', hosted, around, readOutputResources),
    }
  }

  function close(): void {
    inputs?.stop()
    inputs = undefined
  }

  /** The cache does not report the program's own writes. */
  function onChange({ resource, before, after }: InputChange): void {
    if (!isStarted) return
    const { name: called = '', namespace } = (after ?? before)!.metadata
    // A change of its own output may be a conflict; any other change lifts the throttle.
    if (!ownVersions.has(mutationObjectKey({ resource, name: called, namespace }))) {
      generation++
      lane.release(theRun)
    }
    trigger()
  }

  function trigger(): void {
    if (isStarted) lane.add(theRun)
  }

  function checkVersion(): void {
    versionTimer = clock.after(versionCheckMs, checkVersion)
    const version = programVersion(hosted.program)
    // Once per version: after a failure the back-off decides about the next attempt.
    if (version === seenVersion) return
    seenVersion = version
    lane.release(theRun)
    lane.add(theRun)
  }

  // ── a run ──────────────────────────────────────────────────────────────────────────────────────────────────

  async function work(): Promise<void> {
    if (failedVersion === programVersion(hosted.program) && clock.now() < dueAt) {
      // No change of an input helps here: wait for the back-off.
      lane.addAfter(theRun, dueAt - clock.now(), 'retry')
      return
    }
    const read = await declare()
    if (!read) return
    if (read.missing.length > 0) {
      wait(read)
      return
    }
    waiting = undefined
    // `onLoaded` triggers the next run.
    if (read.isPending()) return
    const isHeld = term ? term.begin() : () => true
    if (!isHeld) {
      lane.addAfter(theRun, 1000, 'resync')
      return
    }
    const { changes, objects } = await read.layOut()
    if (changes === 0 && clock.now() < dueAt) {
      // The inputs are unchanged, and the resync is not due yet.
      lane.addAfter(theRun, dueAt - clock.now(), 'resync')
      return
    }
    const observed = observer.begin(controller, theRun)
    let ledger: Ledger
    let effort: Effort | undefined
    try {
      ledger = await observed.within(() => once(objects, isHeld, observed))
    } finally {
      effort = observed.end(objects.length)
    }
    if (stopping.signal.aborted) return
    end(effort ? { ...ledger, effort } : ledger)
    if (ledger.waiting !== undefined) lane.add(theRun, 'resync')
  }

  /** The recorded mutations, by their ledger form. */
  const recorded = new WeakMap<object, CheckedMutations>()

  async function once(
    objects: readonly UntypedObject[],
    isHeld: () => boolean,
    observed: ObservedRun,
  ): Promise<Ledger> {
    const ledger = openLedger()
    const secrets = meetSecrets()
    for (const object of objects) secrets.note(object)
    const hidden = (text: string): string => maskText(text, secrets.values)
    const guard = hosted.live && abortWithoutLease(isHeld)
    const steps = ['Run']
    let entries: readonly LedgerEntry[] = []
    try {
      const output = await observed.aside(() =>
        runOnce(hosted, {
          ...around,
          ...(guard && { signal: guard.signal }),
          input: gather.path,
          folder: folder!,
          now: ledger.startedAt,
          kubeconfig: options.kubeconfig,
          onRefused: ({ message }) => findings.offence(ledger, 'refusedEgress', hidden(message)),
          hide: hidden,
        }),
      )
      // The output of a new version is not checked against the declarations of the old one.
      if (programVersion(hosted.program) !== declared!.version) return { ...ledger, path: steps, waiting: replaced }
      steps.push('Check')
      for (const { file } of output.mutations.filter((each) => each.folder === unspecifiedFolder)) {
        findings.offence(ledger, 'undeclaredWrite', `it writes without a declaration: ${hidden(file)}`)
      }
      for (const twice of severalWrites(output.mutations)) findings.offence(ledger, 'severalWrites', hidden(twice))
      const checked = await checkMutations(output.mutations, sending())
      steps.push('CarryOut')
      const { outcomes, sent } = await executeChecked(checked, (wave) =>
        observed.sending(wave, hidden, () => send(wave, isHeld)),
      )
      entries = sent
      for (const outcome of outcomes) if (outcome.result === 'failed') throw outcome.error
      const broken = output.results!.filter(({ status }) => status === 'Failed' || status === 'Panicked')
      for (const { controller: which, errors } of broken) {
        log({
          level: 'error',
          msg: 'Controller of the program failed',
          operator: name,
          controller: which,
          error: hidden(errors.join('; ')),
        })
      }
      if (broken.length === 0) return { ...ledger, path: steps, entries }
      const which = broken.map((each) => each.controller).join(', ')
      throw new MusterError(contractErrors.ExternalFailed, `${name}: of its controllers ${which} failed.`)
    } catch (error) {
      const plain = failureOf(error, steps.at(-1)!, 'program')
      const failure = { ...plain, message: hidden(plain.message) }
      const { reason, message } = failure
      if (reason === 'OutputRefused') findings.offence(ledger, 'refusedOutput', message)
      if (reason === 'UndeclaredOutput') findings.offence(ledger, 'undeclaredWrite', message)
      return { ...ledger, path: steps, entries, failure }
    } finally {
      guard?.release()
    }
  }

  /** Calls of a live program cannot be fenced: it is ended as soon as another replica may lead. */
  function abortWithoutLease(isHeld: () => boolean): { readonly signal: AbortSignal; release(): void } {
    const over = new AbortController()
    let timer = clock.after(250, check)
    function check(): void {
      if (!isHeld()) over.abort()
      timer = clock.after(250, check)
    }
    return { signal: AbortSignal.any([stopping.signal, over.signal]), release: () => timer.cancel() }
  }

  async function executeChecked(
    checked: readonly CheckedMutations[],
    execute: (wave: Wave) => Promise<Outcomes>,
  ): Promise<{ readonly outcomes: Outcomes; readonly sent: readonly LedgerEntry[] }> {
    const wave = checked.map(ledgerMutationOf)
    for (const [index, mutation] of wave.entries()) recorded.set(mutation, checked[index]!)
    const known = wave.map((mutation, index) =>
      isHere(checked[index]!) ? inputs?.peek(mutation.resource, mutationName(mutation)) : undefined,
    )
    const outcomes = wave.length === 0 ? [] : await execute(wave)
    const sent = checked.map((each, index) => {
      const { resource } = each
      const called = mutationName(wave[index]!)
      const isRead = isHere(each)
      const key = `${isRead ? '' : `${each.read.folder} `}${mutationObjectKey({ resource, ...called })}`
      writtenKinds.set(kindText(resource), resource)
      const outcome = outcomes[index]!
      const isSeen = isRead && (inputs?.sees(resource, called) ?? false)
      const entry = entryOf({ checked: each, before: known[index], isSeen, ours: ownVersions.get(key), outcome })
      // A dry run changed nothing.
      if (isDryRunMutation(each.read)) return entry
      const { resourceVersion } = (outcome.result === 'done' && outcome.object?.metadata) || {}
      if (each.read.mutation.verb === 'Delete') ownVersions.delete(key)
      else if (resourceVersion !== undefined && each.read.mutation.subresource === undefined) {
        ownVersions.set(key, resourceVersion)
      }
      return entry
    })
    return { outcomes, sent }
  }

  function sending(): ExecuteOptions {
    return { targetOf, declared: declared!.outputs, fieldManager: name, others: hosted.others }
  }

  async function send(wave: Wave, isHeld: () => boolean): Promise<Outcomes> {
    lane.spend(wave.length)
    const done = await executeMutations(
      wave.map((mutation) => recorded.get(mutation)!),
      { ...sending(), timeoutMs: options.writeTimeoutMs, isHeld },
    )
    return done.map(({ error, object }, index): MutationOutcome => {
      if (error !== undefined) return { result: 'failed', error: withoutSecrets(error, wave[index]!) }
      return object ? { result: 'done', object } : { result: 'done' }
    })
  }

  // ── results ────────────────────────────────────────────────────────────────────────────────────────────────

  function openLedger(): Ledger {
    return {
      operator: name,
      controller,
      key: theRun,
      generation,
      path: [],
      entries: [],
      health: new Map(),
      isFinalizing: false,
      startedAt: clock.now(),
    }
  }

  function wait(on: ProgramInputs): void {
    const what = on.missing.map(({ group, version, resource }) => `${resource}.${group}/${version}`.replace('./', '/'))
    const why = `${what.join(', ')}, which the cluster does not serve`
    if (why !== waiting) end({ ...openLedger(), waiting: why })
    waiting = why
    // A CRD exists a moment before its kind is served; other missing kinds have no event.
    lane.addAfter(theRun, on.isComing() ? 1000 : throttleMs, 'resync')
  }

  function end(ran: Ledger): void {
    const { failure } = ran
    failures = failure ? countFailure(failures, failure) : noFailures
    const requeueMs =
      ran.waiting === undefined
        ? failure
          ? (reconcileRetryDelay(failure, failures) ?? resyncMs)
          : resyncMs
        : undefined
    const ledger: Ledger = { ...ran, ...(requeueMs !== undefined && { requeueAfterMs: requeueMs }) }
    options.onLedger?.(ledger)
    metrics?.count(ledger, clock.now() - ledger.startedAt)
    const line = logLine(ledger)
    // A program waits for kinds that are not served: an administrator has to see that.
    log(ledger.waiting === undefined ? line : { ...line, level: 'info' })
    findings.note(ledger)
    if (!failure && !ledger.entries.some(isWrite)) findings.over()
    if (requeueMs === undefined) return
    dueAt = clock.now() + requeueMs
    lane.addAfter(theRun, requeueMs, failure ? 'retry' : 'resync')
    // It reacts to its own writes in its next run, if it reads them.
    if (ledger.entries.some(isWrite)) lane.add(theRun, 'resync')
  }

  return {
    async start() {
      folder = openProgramFolder(name)
      gather = openGatherFolder(path.join(folder, 'input'), { isShared: true })
      await declare()
      if (stopping.signal.aborted) return
      isStarted = true
      versionTimer = clock.after(versionCheckMs, checkVersion)
      lane.add(theRun, 'resync')
    },
    idle: () => lane.idle(),
    runs: () => lane.state().runs.map(({ since }) => ({ operator: name, key: theRun, since })),
    reconfigure({ gates: others }) {
      if (others) lane.regate(others)
    },
    async stop() {
      // Safe at any moment: the output of a run is carried out after its end, or not at all.
      stopping.abort()
      versionTimer?.cancel()
      await lane.leave()
      close()
      if (folder !== undefined) discard(folder)
    },
  }
}
