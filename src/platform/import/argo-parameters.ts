/** Parameters of an Application: values that are set by dotted paths, as with `--set`. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import type { FieldReader } from './field-reader.ts'

/** The values with all parameters set. Names with escapes or list indexes are noted. */
export function withParameters(
  fields: FieldReader,
  path: string,
  values: JsonObject | undefined,
): JsonObject | undefined {
  const assignments = fields.each(path, {}, (item) => {
    const [name, value] = [item.text('name'), item.value('value') ?? '']
    const isText = item.flag('forceString') === true
    const isPlain = name !== undefined && /^[\w-]+(?:\.[\w-]+)*$/.test(name) && name.split('.').length <= deepest
    if (!isPlain || typeof value !== 'string') {
      item.note('', 'only plain dotted names with a text can be set: copy the value to spec.values')
      return undefined
    }
    return { steps: name.split('.'), value: isText ? value : typedValue(value) }
  })
  return assignments.reduce((all, { steps, value }) => withValue(all, steps, value), values)
}

const deepest = 30

/** As Helm types the values of `--set`. */
function typedValue(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true'
  if (text === 'null') return null
  const isInteger = text === '0' || /^-?[1-9]\d{0,14}$/.test(text)
  return isInteger ? Number(text) : text
}

function withValue(values: JsonObject | undefined, [step = '', ...rest]: readonly string[], value: Json): JsonObject {
  const below = ownMember(values, step)
  const member = rest.length === 0 ? value : withValue(isJsonObject(below) ? below : undefined, rest, value)
  return Object.fromEntries([...Object.entries(values ?? {}), [step, member]])
}
