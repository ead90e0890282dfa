/**
 * Who is quarantined: an operator that stopped a manager is not run in its thread again. It is run at the level `worker`
 * instead, where a loop without an end is its own trouble.
 *
 * An entry holds for the version that it was written for: whoever mends the module, changes the operator's settings or chooses
 * its isolation has another one. It is read when operators are posted, once for all of them; at rest nobody asks.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { Log } from '../logging/log-line.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import { objectNameOf } from '../config/options-of.ts'
import { createEventRecorder } from '../run/event-recorder.ts'
import { describeFinding, type Quarantined } from '../findings/finding.ts'
import { messageText } from '../config/message-text.ts'
import type { Fact } from './fact.ts'
import { type QuarantineEntry, entryKey, type QuarantineRecord, readRecord } from './quarantine-record.ts'
import { settingsText, codeVersionOf } from './version.ts'

export interface QuarantineOptions {
  readonly client: Client
  readonly clock: Clock
  /** `namespace/name` of the ConfigMap. */
  readonly configMap: string
  /** `FILE#NAME` of an operator. */
  readonly moduleOf: (operator: string, section: OperatorSettings) => Promise<string | undefined>
  /** Whether somebody chose its isolation, be it the usual one. */
  readonly isChosen: (operator: string) => boolean
  /** The watchdog hears who runs in the main thread. */
  readonly tell: (fact: Fact) => void
  readonly log: Log
}

export interface Quarantine {
  /** Those of the sections that are quarantined, and why. @throws what keeps the record from being read */
  read(
    sections: Readonly<Record<string, OperatorSettings>>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Quarantined>>
  /** It runs in the main thread from now on, under this name. */
  admit(as: string, operator: string, section: OperatorSettings): Promise<void>
  /** As an Event about the record, which is what a person has to look at. */
  announce(finding: Quarantined): Promise<void>
}

export function createQuarantine(options: QuarantineOptions): Quarantine {
  const { client, clock, configMap, log } = options
  const at = objectNameOf(configMap)
  const recorder = createEventRecorder({
    client,
    clock,
    operator: 'muster',
    onProblem: (error) => log({ problem: 'an Event was not written', error: String(error) }),
  })
  let last: QuarantineRecord['object']
  let isTold = false

  /** Code in memory stays what it was, whatever becomes of its files: looked at once for each setting. */
  const versions = new Map<string, string>()
  const currentOf = async (operator: string, section: OperatorSettings): Promise<string> => {
    const settings = settingsText(section, options.isChosen(operator))
    const known = versions.get(operator + settings)
    if (known !== undefined) return known
    const { version } = await codeVersionOf({ module: await options.moduleOf(operator, section), settings })
    versions.set(operator + settings, version)
    return version
  }

  const whole = async (signal: AbortSignal): Promise<QuarantineRecord> => {
    try {
      return await readRecord(client, at, { signal })
    } catch (error) {
      if (!isMusterError(error, 'Forbidden')) throw error
      // Who may not read it runs everything as it is set, as if there were no watchdog.
      if (!isTold) log({ problem: `the quarantine ConfigMap ${configMap} cannot be read: ${messageText(error)}` })
      isTold = true
      return { object: undefined, entries: new Map() }
    }
  }

  return {
    async read(sections, signal) {
      const { object, entries } = await whole(signal)
      last = object
      const found = new Map<string, Quarantined>()
      for (const [operator, section] of Object.entries(sections)) {
        const isNamed = [...entries.values()].some((entry) => entry.operator === operator)
        if (!isNamed || section.isolation !== 'inline' || section.program) continue
        // One whose code cannot be found fails by itself, and says so better.
        const version = await currentOf(operator, section).catch(() => '')
        const key = entryKey(operator, version)
        const entry = entries.get(key)
        if (entry) found.set(operator, findingOf(entry, `${configMap}, key ${key}`, clock.now()))
      }
      return found
    },
    async admit(as, operator, section) {
      const settings = settingsText(section, options.isChosen(operator))
      const module = await options.moduleOf(operator, section)
      options.tell({ about: 'operator', as, operator, module, settings, loadedAt: clock.now() })
    },
    async announce(finding) {
      if (last)
        await recorder.record(last, { type: 'Warning', reason: 'Quarantined', message: describeFinding(finding) })
    },
  }
}

function findingOf(entry: QuarantineEntry, record: string, now: number): Quarantined {
  const { operator, controller, key, step, heldSeconds, line, replica, at: since } = entry
  return { kind: 'quarantined', operator, controller, key, step, heldSeconds, line, replica, since, record, at: now }
}
