/**
 * `protobuf.json`: the protobuf encoding of the built-in kinds, which no OpenAPI document contains.
 *
 * Two files of a Go package define it together. `generated.proto` has field numbers and wire types; the Go structs have
 * the JSON names and determine which empty fields are visible: a pointer that is set shows its zero, a value marked
 * `omitempty` does not. One message a line, in the notation of `src/kube/protobuf/table.ts`.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { BuiltinResource } from '../../src/kube/builtin.ts'

/** One Go package with messages. */
export interface ProtoPackage {
  /** `k8s.io.api.apps.v1`, the package name of its messages. */
  readonly name: string
  readonly proto: string
  /** The text of its Go files, one after the other. */
  readonly go: string
}

interface ProtoField {
  readonly number: number
  /** `repeated`, `map`, or empty. */
  readonly many: '[]' | '{}' | ''
  readonly type: string
}

interface GoField {
  readonly number: number
  readonly json: string
  readonly pointer: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  readonly inline: boolean
}

const modules = ['api', 'apimachinery', 'apiextensions-apiserver', 'kube-aggregator'] as const
const scalars = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double'])

/** Messages whose JSON is not an object of their fields: `src/kube/protobuf/special.ts` handles them by these names. */
const special: Readonly<Record<string, string>> = {
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'k8s.io.apimachinery.pkg.apis.meta.v1.Duration': 'duration',
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': 'raw',
  'k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime': 'microtime',
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'k8s.io.apimachinery.pkg.runtime.RawExtension': 'raw',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': 'intorstring',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON': 'raw',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': 'schemaorarray',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': 'schemaorbool',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': 'schemaorstrings',
}

const metaPackage = 'k8s.io.apimachinery.pkg.apis.meta.v1'
/** Types that every group version accepts or returns besides its own kinds. */
const metaKinds = ['DeleteOptions', 'PartialObjectMetadata', 'PartialObjectMetadataList', 'Status', 'WatchEvent']

/** The modules with messages, by their Go names. */
export function protoModules(kubernetesVersion: string): readonly string[] {
  // The staging modules use v0 where Kubernetes uses v1.
  return modules.map((module) => `k8s.io/${module}@${kubernetesVersion.replace(/^1/, 'v0')}`)
}

/** The packages in the staging area of a Kubernetes source tree, or in the modules beside it in the Go module cache. */
export function readProtoPackages(sourceTree: string, kubernetesVersion: string): readonly ProtoPackage[] {
  const staging = path.join(sourceTree, 'staging', 'src')
  const cache = path.join(sourceTree, '..', '..')
  const folders = existsSync(staging)
    ? modules.map((module) => path.join(staging, 'k8s.io', module))
    : protoModules(kubernetesVersion).map((module) => path.join(cache, module))
  return folders.filter((folder) => existsSync(folder)).flatMap(packagesIn)
}

function packagesIn(folder: string): readonly ProtoPackage[] {
  return globSync('**/generated.proto', { cwd: folder })
    .toSorted()
    .map((file) => {
      const proto = readFileSync(path.join(folder, file), 'utf8')
      const name = /^package (\S+);/m.exec(proto)?.[1]
      if (name === undefined) throw new Error(`${file} names no package`)
      const home = path.join(folder, path.dirname(file))
      const sources = globSync('*.go', { cwd: home }).filter((source) => !/_test\.go$|^(zz_)?generated/.test(source))
      return {
        name,
        proto,
        go: sources
          .toSorted()
          .map((source) => readFileSync(path.join(home, source), 'utf8'))
          .join('\n'),
      }
    })
}

/** The table: the served types, and every message reached from them. */
export function protobufOf(packages: readonly ProtoPackage[], resources: readonly BuiltinResource[]): string {
  const byName = new Map(packages.map((one) => [one.name, one]))
  const served = new Map<string, string>()
  for (const resource of resources)
    for (const { definition, group, version } of [resource, ...resource.subresources]) {
      if (definition === undefined) continue
      const home = packageOf(definition)
      // The kinds of a package belong to its own group, wherever their subresources are served.
      if (byName.has(home) && home !== metaPackage) served.set(home, group === '' ? version : `${group}/${version}`)
    }
  const protos = new Map(packages.map(({ name, proto }) => [name, messagesOf(proto)]))
  const structs = new Map(packages.map(({ name, go }) => [name, structsOf(go)]))
  for (const { name, go } of packages) addAliases(structs, name, go)

  const lines = new Map<string, string>()
  const reach = (message: string): void => {
    if (lines.has(message) || special[message] !== undefined) return
    const cut = message.lastIndexOf('.')
    const [home, name] = [message.slice(0, cut), message.slice(cut + 1)]
    const fields = protos.get(home)?.get(name)
    if (!fields) throw new Error(`there is no message ${message}`)
    lines.set(message, '')
    const struct = structs.get(home)?.get(name)
    lines.set(
      message,
      struct === undefined
        ? printUnwrapped(message, fields)
        : printMessage(message, fields, struct, (type) => isSlice(type, structs)),
    )
    for (const { type } of fields.values()) if (!scalars.has(type)) reach(resolve(type, home))
  }
  for (const home of [...served.keys()].toSorted())
    for (const [name, struct] of structs.get(home) ?? [])
      if (struct?.kind && protos.get(home)?.has(name)) reach(`${home}.${name}`)
  if (byName.has(metaPackage)) for (const name of metaKinds) reach(`${metaPackage}.${name}`)

  const entries = [...lines].map(([name, text]): [string, string] => [shortName(name), text])
  return [
    '{',
    '"groups":{',
    [...served]
      .toSorted(byKey)
      .map(([home, groupVersion]) => pair(groupVersion, shortName(`${home}.`).slice(0, -1)))
      .join(',\n'),
    '},',
    '"messages":{',
    entries
      .toSorted(byKey)
      .map(([name, text]) => pair(name, text))
      .join(',\n'),
    '}}',
    '',
  ].join('\n')

  function resolve(type: string, home: string): string {
    return type.startsWith('.') ? type.slice(1) : `${home}.${type}`
  }

  function isSlice(type: string, all: typeof structs): boolean {
    const cut = type.lastIndexOf('.')
    return special[type] === undefined && all.get(type.slice(0, cut))?.get(type.slice(cut + 1)) === undefined
  }

  function printMessage(
    message: string,
    fields: ReadonlyMap<number, ProtoField>,
    struct: GoStruct,
    isSliceType: (type: string) => boolean,
  ): string {
    const home = message.slice(0, message.lastIndexOf('.'))
    // In the order of the struct, which is the order in which Go writes JSON.
    const known = struct.fields.filter(({ number }) => fields.has(number))
    if (known.length !== fields.size) throw new Error(`${message}: the struct and the message have different fields`)
    return known
      .map(({ number, json, pointer, omitEmpty, omitZero, inline }) => {
        const { many, type } = fields.get(number)!
        const isScalar = scalars.has(type)
        const full = isScalar ? type : resolve(type, home)
        // `omitempty` omits nil values and zero scalars; for structs only `omitzero` has an effect.
        const isStruct = !isScalar && !pointer && many === '' && !isSliceType(full)
        const always = isStruct ? !omitZero : !omitEmpty
        const written = isScalar ? type : (special[full] ?? nearName(full, home))
        return `${number} ${inline ? '' : json}${always && !inline ? '!' : ''} ${many}${pointer && many === '' ? '*' : ''}${written}`
      })
      .join(';')
  }

  /** A named Go slice is encoded as a message with one field, and appears as a list. */
  function printUnwrapped(message: string, fields: ReadonlyMap<number, ProtoField>): string {
    const [field, ...others] = fields.values()
    if (field?.many !== '[]' || others.length > 0) throw new Error(`${message} has no Go struct`)
    return `=${field.number} []${field.type}`
  }
}

interface GoStruct {
  /** A struct with TypeMeta is a kind. */
  readonly kind: boolean
  readonly fields: readonly GoField[]
}

function messagesOf(proto: string): ReadonlyMap<string, ReadonlyMap<number, ProtoField>> {
  const messages = new Map<string, Map<number, ProtoField>>()
  let current: Map<number, ProtoField> | undefined
  for (const line of proto.split('\n')) {
    const opened = /^message (\w+) \{/.exec(line)
    if (opened) messages.set(opened[1]!, (current = new Map()))
    const field = /^ {2}(?:(optional|repeated) (\S+)|map<string, (\S+)>) \S+ = (\d+);/.exec(line)
    if (field) {
      const number = Number(field[4])
      const many = field[3] !== undefined ? '{}' : field[1] === 'repeated' ? '[]' : ''
      current!.set(number, { number, many, type: (field[2] ?? field[3])! })
    } else if (/^ {2}[^/ ]/.test(line) && current) throw new Error(`not understood: ${line}`)
    if (line === '}') current = undefined
  }
  return messages
}

/** `type Rule = v1.Rule`: older packages reuse structs of newer ones. */
function addAliases(structs: ReadonlyMap<string, Map<string, GoStruct>>, home: string, go: string): void {
  const imports = new Map<string, string>()
  for (const [, alias, where] of go.matchAll(/^\s+(\w+)? ?"(k8s\.io\/[^"]+)"/gm))
    imports.set(alias ?? where!.slice(where!.lastIndexOf('/') + 1), where!.replaceAll('/', '.').replaceAll('-', '_'))
  for (const [, name, alias, original] of go.matchAll(/^type (\w+) (?:= )?(\w+)\.(\w+)$/gm)) {
    const struct = structs.get(imports.get(alias!) ?? '')?.get(original!)
    if (struct) structs.get(home)!.set(name!, struct)
  }
}

/** The structs of a package by name. */
function structsOf(go: string): Map<string, GoStruct> {
  const structs = new Map<string, GoStruct>()
  for (const [, name, body] of go.matchAll(/^type (\w+) struct ?\{(?:\}$|\n(.*?)^\})/gms)) {
    const fields: GoField[] = []
    let kind = false
    for (const line of (body ?? '').split('\n')) {
      const field = /^\s+(?:\w+\s+)?(\*?)[\w.[\]*]+\s+`(.*)`/.exec(line)
      if (!field) continue
      if (/^\s+(?:metav1\.|v1\.)?TypeMeta\s/.test(line)) kind = true
      const [json = '', ...options] = (/json:"([^"]*)"/.exec(field[2]!)?.[1] ?? '').split(',')
      const number = Number(/protobuf:"\w+,(\d+)/.exec(field[2]!)?.[1])
      if (Number.isNaN(number)) continue
      fields.push({
        number,
        json,
        pointer: field[1] === '*',
        omitEmpty: options.includes('omitempty'),
        omitZero: options.includes('omitzero'),
        inline: json === '',
      })
    }
    structs.set(name!, { kind, fields })
  }
  return structs
}

/** `io.k8s.api.apps.v1.Deployment` → `k8s.io.api.apps.v1`. */
function packageOf(definition: string): string {
  return definition
    .slice(0, definition.lastIndexOf('.'))
    .replace(/^io\.k8s\./, 'k8s.io.')
    .replace('apiextensions-apiserver', 'apiextensions_apiserver')
    .replace('kube-aggregator', 'kube_aggregator')
}

/** `k8s.io.api.apps.v1.Deployment` → `apps/v1.Deployment`. */
function shortName(message: string): string {
  return message.split('.').slice(-3).join('.').replace('.', '/')
}

function nearName(message: string, home: string): string {
  return message.startsWith(`${home}.`) && !message.slice(home.length + 1).includes('.')
    ? message.slice(home.length + 1)
    : shortName(message)
}

function pair(key: string, value: string): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}
