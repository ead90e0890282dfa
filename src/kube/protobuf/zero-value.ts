/**
 * Where zero and absent are the same value. The API server keeps an object of a built-in kind as a Go struct: a field that
 * is no pointer holds its zero value when a client leaves it out, and the server leaves a zero value out when it answers
 * (`omitempty`). No client can tell the two apart, so neither may be reported as a difference to the other. A pointer
 * (`allowPrivilegeEscalation`, `replicas`, `emptyDir`) and an entry of a map (a label, a key of a ConfigMap) keep presence.
 */
import { isJsonObject, type Json } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import { isZeroQuantity, parseQuantity } from '../quantity.ts'
import { type ProtobufField, type Message, messageNamed } from './table.ts'

/** The field of a message that shows as this member, those of inlined messages included. */
export function fieldNamed(message: Message, name: string): ProtobufField | undefined {
  let known = byName.get(message)
  if (!known) byName.set(message, (known = new Map(shownFields(message).map((field) => [field.name, field]))))
  return known.get(name)
}

const byName = new WeakMap<Message, ReadonlyMap<string, ProtobufField>>()

function shownFields({ fields }: Message): readonly ProtobufField[] {
  return fields.flatMap((field) => (field.name === '' ? shownFields(messageNamed(field.type)) : [field]))
}

/** The message of a field's value, of its items or of its entries; undefined where that is no message. */
export function fieldMessageOf({ scalar, special, type }: ProtobufField): Message | undefined {
  return scalar || special ? undefined : messageNamed(type)
}

/** Whether the API server keeps `value` in this field as it keeps no value. JSON's `null` is no value in Go. */
export function isZeroValue(value: Json | undefined, field: ProtobufField): boolean {
  if (value === undefined || value === null) return true
  if (field.many === 'list') return isJsonArray(value) && value.length === 0
  if (field.many === 'map') return isJsonObject(value) && Object.keys(value).length === 0
  return !field.pointer && isZero(value, field)
}

function isZero(value: Json, field: ProtobufField): boolean {
  // Bytes that are always written are so as `null` or `""`.
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
