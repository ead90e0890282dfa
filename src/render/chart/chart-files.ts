/** `.Files`: the files of a chart that are no templates. */
import { writeHelmYaml } from '../functions/encoding/yaml-writer.ts'
import { goFunction } from '../template/function-type.ts'
import { bytesText } from '../template/text-bytes.ts'
import { type GoMap, setMapMember, stringList, withType } from '../template/values.ts'
import type { ChartFile } from './chart.ts'
import { parseFilePattern } from './file-pattern.ts'

export function filesObject(files: readonly ChartFile[]): GoMap {
  const map: GoMap = {}
  for (const { name, data } of files) setMapMember(map, name, data)
  const bytesOf = (name: string): Uint8Array =>
    Object.hasOwn(map, name) ? (map[name] as Uint8Array) : new Uint8Array()
  /** By name without the path: of files with the same name one is taken. */
  const byName = (textOf: (data: Uint8Array) => string): string => {
    const named: GoMap = {}
    for (const { name, data } of files) setMapMember(named, name.slice(name.lastIndexOf('/') + 1), textOf(data))
    return writeHelmYaml(named, { isPretty: false }).replace(/\n$/, '')
  }
  return withType(map, 'engine.files', {
    Get: goFunction('string', ([name]: [string]) => bytesText(bytesOf(name))),
    GetBytes: goFunction('string', ([name]: [string]) => bytesOf(name)),
    Glob: goFunction('string', ([pattern]: [string]) => {
      const matches = parseFilePattern(pattern) ?? (() => true)
      return filesObject(files.filter(({ name }) => matches(name)))
    }),
    AsConfig: goFunction('', () => byName(bytesText)),
    AsSecrets: goFunction('', () => byName((data) => Buffer.from(data).toString('base64'))),
    Lines: goFunction('string', ([name]: [string]) => {
      const text = bytesText(bytesOf(name))
      return stringList(text === '' ? [] : text.replace(/\n$/, '').split('\n'))
    }),
  })
}
