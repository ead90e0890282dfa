/**
 * Fields for which zero and absent are the same. The API server keeps an object of a built-in kind as a Go struct: a non-pointer
 * field has its zero value if a client omits it, and the server omits a zero value in responses (`omitempty`). No client can
 * distinguish the two, so the one must not be reported as drift from the other. A pointer (`allowPrivilegeEscalation`,
 * `replicas`, `emptyDir`) and a map entry (a label, a key of a ConfigMap) keep presence.
 */
import { isJsonObject, type Json } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import { isZeroQuantity, parseQuantity } from '../units/quantity.ts'
import { type ProtobufField, type Message, messageNamed } from './table.ts'

/** The field of a message for this member, including those of inlined messages. */
export function fieldNamed(message: Message, name: string): ProtobufField | undefined {
  let known = byName.get(message)
  if (!known) byName.set(message, (known = new Map(shownFields(message).map((field) => [field.name, field]))))
  return known.get(name)
}

const byName = new WeakMap<Message, ReadonlyMap<string, ProtobufField>>()

function shownFields({ fields }: Message): readonly ProtobufField[] {
  return fields.flatMap((field) => (field.name === '' ? shownFields(messageNamed(field.type)) : [field]))
}

/** The message type of a field's value, items or entries; undefined if it is not a message. */
export function fieldMessageOf({ scalar, special, type }: ProtobufField): Message | undefined {
  return scalar || special ? undefined : messageNamed(type)
}

/** Whether the API server keeps `value` in this field as if it were absent. JSON `null` is absent in Go. */
export function isZeroValue(value: Json | undefined, field: ProtobufField): boolean {
  if (value === undefined || value === null) return true
  if (field.many === 'list') return isJsonArray(value) && value.length === 0
  if (field.many === 'map') return isJsonObject(value) && Object.keys(value).length === 0
  return !field.pointer && isZero(value, field)
}

function isZero(value: Json, field: ProtobufField): boolean {
  // Bytes without omitempty are written as `null` or `""`.
  if (field.scalar === 'bytes' && field.always) return false
  if (field.scalar) return value === '' || value === 0 || value === false
  if (field.special) return isZeroSpecial(value, field)
  const message = messageNamed(field.type)
  if (message.unwrapped) return isZeroValue(value, message.fields[0]!)
  if (!isJsonObject(value)) return false
  return Object.keys(value).every((name) => {
    const member = fieldNamed(message, name)
    return member !== undefined && isZeroValue(ownMember(value, name), member)
  })
}

function isZeroSpecial(value: Json, { special }: ProtobufField): boolean {
  if (special === 'intorstring') return value === 0
  if (special === 'duration') return value === '0s'
  if (special !== 'quantity' || (typeof value !== 'string' && typeof value !== 'number')) return false
  try {
    return isZeroQuantity(parseQuantity(value))
  } catch {
    return false
  }
}
