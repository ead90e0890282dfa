/**
 * Generates `src/apiserver/kinds/values/go-structs.json`: the internal structs of the real server that its error messages
 * print, with the names and the order of Go.
 *
 *     node scripts/generate-go-structs.ts SOURCE    the folder of the Go module k8s.io/kubernetes
 *
 * `src/apiserver/kinds/values/go-struct.ts` describes the format of the table. The output is deterministic.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { kubernetesVersion } from './kube/sources.ts'

/** The structs that are printed as a whole; all others are reached from these. */
const roots = ['PodTemplateSpec', 'PersistentVolumeClaim']

/** Types of other packages: printed as their own JSON, or like a Go type. */
const foreign: Readonly<Record<string, string>> = {
  'metav1.ObjectMeta': 'json',
  'metav1.TypeMeta': 'none',
  'metav1.LabelSelector': 'json',
  'metav1.Time': 'time',
  'resource.Quantity': 'quantity',
  'intstr.IntOrString': 'number',
  'types.UID': 'string',
}
const basic: Readonly<Record<string, string>> = { string: 'string', bool: 'bool', int32: 'number', int64: 'number' }

interface GoField {
  /** Empty where a struct is embedded. */
  readonly name: string
  readonly type: string
  readonly json: string
}

/** The table of all internal structs, each with the JSON names of version v1. */
export function goStructs(internal: string, versioned: string): Readonly<Record<string, string>> {
  const structs = structsOf(internal)
  const outside = structsOf(versioned)
  const aliases = new Map([...internal.matchAll(/^type (\w+) ([\w.[\]]+)$/gm)].map(([, name, type]) => [name!, type!]))
  const table = new Map<string, string>()

  const reach = (name: string): void => {
    if (table.has(name)) return
    table.set(name, '')
    const names = new Map((outside.get(name) ?? []).map((field) => [field.name, field.json]))
    const fields = (structs.get(name) ?? []).map((field) => {
      const type = resolve(field.type)
      return field.name === '' ? `~ ~ ${type}` : `${field.name} ${names.get(field.name) ?? '~'} ${type}`
    })
    table.set(name, fields.filter((field) => !field.endsWith(' none')).join(';'))
  }

  const resolve = (type: string): string => {
    const [, prefix = '', base = ''] = /^((?:\*|\[\]|map\[\w+\])?)(.*)$/.exec(type) ?? []
    const shown = prefix.startsWith('map') ? '{}' : prefix
    const alias = aliases.get(base)
    if (base === 'ResourceList') return `${shown}{}quantity`
    if (alias !== undefined && !structs.has(base)) return shown === '' ? resolve(alias) : shown + resolve(alias)
    const known = foreign[base] ?? basic[base]
    if (known !== undefined) return shown + known
    if (!structs.has(base)) throw new Error(`nobody knows the type ${type}`)
    reach(base)
    return shown + base
  }

  for (const root of roots) reach(root)
  return Object.fromEntries([...table].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function structsOf(go: string): ReadonlyMap<string, readonly GoField[]> {
  const structs = new Map<string, readonly GoField[]>()
  for (const [, name, body] of go.matchAll(/^type (\w+) struct ?\{\n(.*?)^\}/gms)) {
    const lines = body!.split('\n').filter((line) => /^\t[A-Za-z]/.test(line))
    structs.set(
      name!,
      lines.map((line) => {
        const [code = ''] = line.trim().split('//', 1)
        const [, tag = ''] = /json:"([^",]*)/.exec(code) ?? []
        const [first = '', second] = code.replace(/`.*`/, '').trim().split(/\s+/)
        return second === undefined ? { name: '', type: first, json: tag } : { name: first, type: second, json: tag }
      }),
    )
  }
  return structs
}

function main(): void {
  const source = process.argv[2]
  if (source === undefined) throw new Error('usage: node scripts/generate-go-structs.ts SOURCE')
  const staging = path.join(source, 'staging/src/k8s.io/api')
  const api = existsSync(staging) ? staging : path.join(source, `../api@${kubernetesVersion.replace(/^1/, 'v0')}`)
  const read = (folder: string, file: string): string => readFileSync(path.join(folder, file), 'utf8')
  const table = goStructs(read(source, 'pkg/apis/core/types.go'), read(api, 'core/v1/types.go'))
  const lines = Object.entries(table).map(([name, fields]) => `${JSON.stringify(name)}:${JSON.stringify(fields)}`)
  const target = fileURLToPath(new URL('../src/apiserver/kinds/values/go-structs.json', import.meta.url))
  writeFileSync(target, `{\n${lines.join(',\n')}\n}\n`)
}

if (import.meta.main) main()
