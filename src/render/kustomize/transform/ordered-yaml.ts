/** YAML whose mappings keep the order of their members. */
import { writeYaml } from '../../../kube/yaml/yaml.ts'
import { isMapping, jsonOf, type Value } from '../model/value.ts'

export function writeOrdered(value: Value): string {
  return lines(value, '').join('\n')
}

function lines(value: Value, indent: string): readonly string[] {
  if (isMapping(value) && value.size > 0) {
    return [...value].flatMap(([key, member]) => entry(`${indent}${scalarText(key)}:`, member, indent))
  }
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item) => {
      const [first = '', ...rest] = lines(item, `${indent}  `)
      return [`${indent}- ${first.trimStart()}`, ...rest]
    })
  }
  return block(value).map((line, index) => (index === 0 ? indent + line : `${indent}${line}`))
}

function entry(head: string, member: Value, indent: string): readonly string[] {
  const isNested = (isMapping(member) && member.size > 0) || (Array.isArray(member) && member.length > 0)
  if (isNested) return [head, ...lines(member, isMapping(member) ? `${indent}  ` : indent)]
  const [first = '', ...rest] = block(member)
  return [`${head} ${first}`, ...rest.map((line) => (line === '' ? '' : `${indent}  ${line}`))]
}

function block(value: Value): readonly string[] {
  const [first = '', ...rest] = writeYaml({ k: jsonOf(value) })
    .trimEnd()
    .split('\n')
  return [first.slice('k: '.length), ...rest.map((line) => line.slice('  '.length))]
}

function scalarText(key: string): string {
  return writeYaml({ [key]: null }).split(': null')[0] ?? key
}
