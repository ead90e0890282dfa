/** Fields inside of a text that is itself YAML or JSON, such as a configuration file in a ConfigMap. */
import { formatGoJson } from '../../../kube/go/go-text.ts'
import { parseJson, stringifyJson } from '../../../kube/json.ts'
import { readYamlValues } from '../../../kube/yaml/yaml.ts'
import { memberSlot, type Slot } from '../config/field-spec.ts'
import { isMapping, isScalar, jsonOf, type Mapping, textOf, unshared, type Value, valueOf } from '../model/value.ts'
import { withText } from '../model/written-scalar.ts'
import { type Creation, findSlots, lookUp } from './field-path.ts'
import { writeOrdered } from './ordered-yaml.ts'

/** Changes the fields that a path names inside of a text; false if the path does not enter one. */
export function setInsideText(
  object: Mapping,
  path: readonly string[],
  create: Creation,
  change: (slot: Slot) => void,
): boolean {
  const depth = path.findIndex((_part, index) => index > 0 && isTextAt(object, path.slice(0, index)))
  if (depth < 0) return false
  const place = slotAt(object, path.slice(0, depth))
  if (!place) return false
  const text = textOf(place.get())
  try {
    const root: { value: Value } = { value: documentOf(text) }
    const slot: Slot = { get: () => unshared(root.value), set: (value) => (root.value = value) }
    const slots = findSlots(slot, path.slice(depth), create)
    if (slots.length === 0) return false
    for (const one of slots) change(one)
    const old = place.get()
    if (!isScalar(old)) return false
    place.set(withText(old, written(root.value, text)))
    return true
  } catch {
    // The path is then tried as it is, which gives the error to report.
    return false
  }
}

function isTextAt(object: Mapping, path: readonly string[]): boolean {
  try {
    const value = lookUp(object, path)
    return value !== undefined && isScalar(value)
  } catch {
    return false
  }
}

function slotAt(object: Mapping, path: readonly string[]): Slot | undefined {
  const parent = lookUp(object, path.slice(0, -1))
  const name = path.at(-1)
  return isMapping(parent) && name !== undefined ? memberSlot(parent, name) : undefined
}

function documentOf(text: string): Value {
  const [document = null] = readYamlValues(text)
  return valueOf(document)
}

/** In the format of the text before: JSON on one line or on many, or YAML. */
function written(value: Value, before: string): string {
  if (!/^\s*[[{]/.test(before)) return writeOrdered(value).trim()
  const json = formatGoJson(jsonOf(value))
  return before.includes('\n') && before.includes('  ') ? indented(json) : json
}

function indented(json: string): string {
  // Keys are sorted by now. Go escapes what JavaScript does not.
  return stringifyJson(parseJson(json), 2).replaceAll(/[<>&]/g, (sign) => {
    return String.raw`\u00${sign.codePointAt(0)!.toString(16)}`
  })
}
