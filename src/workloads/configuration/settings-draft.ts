/**
 * A configuration of the manager that is put together from settings of other programs. It remembers where each value is from; what
 * could not be carried over is noted with the reason.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { formatDuration } from '../../kube/units/duration.ts'
import type { ImportNote } from '../../platform/import/field-reader.ts'
import { scalerName } from './instascale-section.ts'
import { workloadsName } from './workloads-config.ts'

/** Where a value is from: `ConfigMap kube-system/instascale-config`, and its field. */
export interface SettingOrigin {
  readonly object: string
  readonly field: string
}

/** Below the configuration of the operator: `inWorkloads('mcad', 'backoffTime')`. */
export function inWorkloads(...path: readonly string[]): readonly string[] {
  return ['operators', workloadsName, 'config', ...path]
}

/** The node scaler runs, with the section of the queue. */
export const sharedScaler: Readonly<Record<string, JsonObject>> = { [scalerName]: { configFrom: workloadsName } }

export class SettingsDraft {
  #settings: JsonObject = {}
  readonly #origins = new Map<string, SettingOrigin>()
  readonly #check: ((settings: JsonObject) => string | undefined) | undefined
  readonly notes: ImportNote[] = []

  /** `check` says what is wrong with a single value, which is then noted and left out. @default all values are taken */
  constructor(check?: (settings: JsonObject) => string | undefined) {
    this.#check = check
  }

  get settings(): JsonObject {
    return this.#settings
  }

  /** By path: `ConfigMap a/b, mcad.backoffTime`. */
  get places(): ReadonlyMap<string, string> {
    return new Map([...this.#origins].map(([path, { object, field }]) => [path, `${object}, ${field}`]))
  }

  note(origin: SettingOrigin, why: string): void {
    this.notes.push({ ...origin, why })
  }

  /** Sets a value, unless it is undefined. A later one wins; that they differ is noted. */
  set(path: readonly string[], value: Json | undefined, origin: SettingOrigin): void {
    if (value === undefined) return
    const wrong = this.#check?.(withSetting({}, path, value))
    if (wrong !== undefined) {
      this.note(origin, `its value is not valid here: ${wrong}`)
      return
    }
    const key = path.join('.')
    const before = this.#origins.get(key)
    if (before && !equalJson(settingAt(this.#settings, path), value))
      this.note(before, `${origin.object}, ${origin.field} has another value, which counts`)
    this.#settings = withSetting(this.#settings, path, value)
    this.#origins.set(key, origin)
  }

  /** `:8080`, `127.0.0.1:8080`, or `0` for off, as an address and a port below `path`. */
  setAddress(path: readonly string[], text: string | undefined, origin: SettingOrigin): void {
    if (text === undefined) return
    if (text === '0') {
      this.set([...path, 'port'], 0, origin)
      return
    }
    const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? []
    if (port === '') this.note(origin, `"${text}" is no address such as :8080`)
    else {
      this.set([...path, 'port'], Number(port), origin)
      const address = host.replace(/^\[(.*)\]$/, '$1')
      if (address !== '') this.set([...path, 'address'], address, origin)
    }
  }
}

/** A duration of Go in JSON: text, or nanoseconds. What is neither is returned as it is, for the validation to name it. */
export function durationSetting(value: Json | undefined): Json | undefined {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return shortDuration(formatDuration(BigInt(value)))
  return value
}

/** `1h0m0s` as `1h`. */
function shortDuration(text: string): string {
  return text.replace(/(?<=[hm])0s$/, '').replace(/(?<=h)0m$/, '')
}

export function settingAt(settings: JsonObject, path: readonly string[]): Json | undefined {
  let at: Json | undefined = settings
  for (const step of path) at = isJsonObject(at) ? ownMember(at, step) : undefined
  return at
}

function withSetting(settings: JsonObject, [step = '', ...rest]: readonly string[], value: Json): JsonObject {
  const below = ownMember(settings, step)
  const member = rest.length === 0 ? value : withSetting(isJsonObject(below) ? below : {}, rest, value)
  return { ...settings, [step]: member }
}
