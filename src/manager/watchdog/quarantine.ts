/**
 * Decides which operators are quarantined: an operator that hung a manager is not run in its thread again. It runs at
 * the level `worker` instead, where an endless loop affects only itself.
 *
 * An entry is valid for one version of the operator: fixing the module, changing the operator's settings or choosing
 * its isolation makes a new version. The record is read when operators are assigned, once for all of them, and not at
 * rest.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
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
  /** Whether the isolation is set explicitly, even to the default. */
  readonly isChosen: (operator: string) => boolean
  /** Tells the watchdog which operators run in the main thread. */
  readonly tell: (fact: Fact) => void
  readonly log: Log
}

export interface Quarantine {
  /** The quarantined ones of the sections, and why. @throws errors of reading the record */
  read(
    sections: Readonly<Record<string, OperatorSettings>>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Quarantined>>
  /** It runs in the main thread from now on, under this name. */
  admit(as: string, operator: string, section: OperatorSettings): Promise<void>
  /** Records an Event on the ConfigMap, which is what an administrator has to look at. */
  announce(finding: Quarantined): Promise<void>
}

export function createQuarantine(options: QuarantineOptions): Quarantine {
  const { client, clock, configMap, log } = options
  const at = objectNameOf(configMap)
  const recorder = createEventRecorder({
    client,
    clock,
    operator: 'muster',
    onProblem: (error) => log({ level: 'warn', msg: 'Event was not written', error: String(error) }),
  })
  let last: QuarantineRecord['object']
  let isTold = false

  /** Loaded code does not change with its files: computed once for each setting. */
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
      if (!isMusterError(error, clientErrors.Forbidden)) throw error
      // A manager that may not read the record runs everything as configured, as if there were no watchdog.
      if (!isTold)
        log({ level: 'warn', msg: 'Quarantine ConfigMap cannot be read', configMap, error: messageText(error) })
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
        // An operator whose code is missing fails by itself, with a better message.
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
