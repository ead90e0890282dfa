/** Validation of environment variables of a container: literal values, `valueFrom` and `envFrom`. */
import type {
  Container,
  EnvFromSource,
  EnvVar,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { configKey, dnsLabel, dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNoBackSteps } from '../values/value-validation.ts'

/** Fields of the pod that variables can refer to. */
const variablePaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

/** Fields of the pod that files of the downward API can refer to. */
export const filePaths: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

/** Every field that can be referred to somewhere. */
const knownPaths = new Set([
  ...variablePaths,
  ...filePaths,
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.host',
  'status.phase',
])

const resourcePaths = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

export function* checkEnvironment({ env = [], envFrom = [] }: Container, field: string): Iterable<Cause> {
  for (const [index, variable] of env.entries()) yield* checkVariable(variable, `${field}.env[${index}]`)
  for (const [index, source] of envFrom.entries()) yield* checkSource(source, `${field}.envFrom`, index)
}

function checkVariableName(name: string): readonly string[] {
  return /^[ -<>-~]*$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

function* checkVariable({ name, value, valueFrom }: EnvVar, field: string): Iterable<Cause> {
  if (!name) yield requiredField(`${field}.name`)
  else yield* eachInvalid(`${field}.name`, name, checkVariableName(name))
  if (!valueFrom) return
  const at = `${field}.valueFrom`
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom
  if (fieldRef) yield* checkFieldRef(fieldRef, variablePaths, `${at}.fieldRef`)
  if (resourceFieldRef) yield* checkResourceRef(resourceFieldRef, `${at}.resourceFieldRef`)
  if (configMapKeyRef) yield* checkKeyRef(configMapKeyRef, `${at}.configMapKeyRef`)
  if (secretKeyRef) yield* checkKeyRef(secretKeyRef, `${at}.secretKeyRef`)
  if (fileKeyRef) {
    const { key, volumeName, path } = fileKeyRef
    yield* key
      ? eachInvalid(`${at}.fileKeyRef.key`, key, checkVariableName(key))
      : [requiredField(`${at}.fileKeyRef.key`)]
    yield* checkLabelled(volumeName, `${at}.fileKeyRef.volumeName`)
    yield* path ? checkNoBackSteps(path, `${at}.fileKeyRef.path`) : [requiredField(`${at}.fileKeyRef.path`)]
  }
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length
  if (count === 0) {
    const choice = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
    yield invalidField(at, '', `must specify one of: ${choice}`)
  } else if (value) yield invalidField(at, '', 'may not be specified when `value` is not empty')
  else if (count > 1) yield invalidField(at, '', 'may not have more than one field specified at a time')
}

function checkLabelled(name: string | undefined, field: string): Problems {
  return name ? eachInvalid(field, name, dnsLabel(name)) : [requiredField(field)]
}

function* checkKeyRef(
  { name = '', key }: { readonly name?: string; readonly key: string },
  field: string,
): Iterable<Cause> {
  yield* eachInvalid(`${field}.name`, name, dnsSubdomain(name))
  yield* key ? eachInvalid(`${field}.key`, key, configKey(key)) : [requiredField(`${field}.key`)]
}

function* checkSource(
  { prefix, configMapRef, secretRef }: EnvFromSource,
  field: string,
  index: number,
): Iterable<Cause> {
  const at = `${field}[${index}]`
  if (prefix) yield* eachInvalid(`${at}.prefix`, prefix, checkVariableName(prefix))
  if (configMapRef) yield* checkReference(configMapRef.name, `${at}.configMapRef.name`)
  if (secretRef) yield* checkReference(secretRef.name, `${at}.secretRef.name`)
  if (!configMapRef && !secretRef) yield invalidField(field, '', 'must specify one of: `configMapRef` or `secretRef`')
  if (configMapRef && secretRef) yield invalidField(field, '', 'may not have more than one field specified at a time')
}

function checkReference(name: string | undefined, field: string): Problems {
  return name ? eachInvalid(field, name, dnsSubdomain(name)) : [requiredField(field)]
}

/** A reference to a field of the pod: `metadata.labels['app']`. */
export function checkFieldRef(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  supported: readonly string[],
  field: string,
): Problems {
  if (!fieldPath) return [requiredField(`${field}.fieldPath`)]
  const wrong = (why: string): Problems => [
    invalidField(`${field}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`),
  ]
  if (apiVersion !== 'v1') return wrong(`unsupported pod version: ${apiVersion}`)
  const { path, subscript } = subscripted(fieldPath)
  if (path !== undefined && subscript !== undefined) {
    if (path === 'metadata.annotations')
      return eachInvalid(field, subscript.toLowerCase(), qualifiedNameProblems(subscript.toLowerCase()))
    if (path === 'metadata.labels') return eachInvalid(field, subscript, qualifiedNameProblems(subscript))
    return wrong(`field label does not support subscript: ${fieldPath}`)
  }
  if (!knownPaths.has(fieldPath)) return wrong(`field label not supported: ${fieldPath}`)
  const meant = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath
  return supported.includes(meant) ? noErrors : [unsupported(`${field}.fieldPath`, meant, supported)]
}

/** `metadata.labels['a']`: the path and the key. */
function subscripted(fieldPath: string): { readonly path?: string; readonly subscript?: string } {
  const open = fieldPath.indexOf("['", 1)
  if (open < 0 || !fieldPath.endsWith("']") || fieldPath.length < open + "['']".length) return {}
  return { path: fieldPath.slice(0, open), subscript: fieldPath.slice(open + 2, -2) }
}

const memoryDivisors = [
  '1',
  ...['k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit) => `1${unit}`),
]
const divisors: ReadonlyMap<string, { readonly allowed: readonly string[]; readonly what: string }> = new Map([
  ['cpu', { allowed: ['1m', '1'], what: 'values 1m and 1 are supported with the cpu resource' }],
  [
    'memory',
    { allowed: memoryDivisors, what: `values ${memoryDivisors.join(', ')} are supported with the memory resource` },
  ],
  [
    'ephemeral-storage',
    {
      allowed: memoryDivisors,
      what: `values ${memoryDivisors.join(', ')} are supported with the local ephemeral storage resource`,
    },
  ],
  [
    'hugepages',
    { allowed: memoryDivisors, what: `values ${memoryDivisors.join(', ')} are supported with the hugepages resource` },
  ],
])

/** A reference to a container's request or limit. A file must name the container. */
export function* checkResourceRef(
  { resource, divisor, containerName }: ResourceFieldSelector,
  field: string,
  options: { readonly inFile?: boolean } = {},
): Iterable<Cause> {
  if (options.inFile && !containerName) yield requiredField(`${field}.containerName`)
  else if (!resource) yield requiredField(`${field}.resource`)
  else if (!resourcePaths.includes(resource) && !/^(?:limits|requests)\.hugepages-/.test(resource)) {
    yield unsupported(`${field}.resource`, resource, resourcePaths)
  }
  const kind = /^(?:limits|requests)\.(cpu|memory|ephemeral-storage|hugepages)(?:-.*)?$/.exec(resource ?? '')?.[1]
  const rule = divisors.get(kind ?? '')
  if (rule && divisor && divisor !== '0' && !rule.allowed.includes(String(divisor))) {
    yield invalidField(`${field}.divisor`, resource, `only divisor's ${rule.what}`)
  }
}
