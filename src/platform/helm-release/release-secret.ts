/**
 * Helm's storage: a Secret for each revision of a release. Its type is `helm.sh/release.v1`, its name
 * `sh.helm.release.v1.NAME.vREVISION`, and its one key `release` holds base64 of gzip of JSON, which the API encodes in base64
 * once more.
 *
 * Secrets are untrusted: decompression is bounded, and errors repeat nothing of the content.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import { base64Problem } from '../../kube/go/go-base64.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Secret } from '../../kube/types/core/v1.ts'
import { errorCode } from '../../system/error-code.ts'
import { platformErrors } from '../errors.ts'
import type { HelmRelease, HelmReleaseHook } from './helm-release.ts'

const releaseType = 'helm.sh/release.v1'
const namePrefix = 'sh.helm.release.v1.'

interface ReleaseLimits {
  /** Bytes of the record, decompressed. @default 64 MiB */
  readonly unpacked?: number
}

/** Whether a Secret holds a release of Helm. */
export function isReleaseSecret({ type, metadata }: Pick<Secret, 'type' | 'metadata'>): boolean {
  return type === releaseType && releaseNamed(metadata.name ?? '') !== undefined
}

/** `sh.helm.release.v1.web.v3` → web, 3. */
function releaseNamed(secretName: string): Pick<HelmRelease, 'name' | 'revision'> | undefined {
  const end = secretName.lastIndexOf('.v')
  const digits = secretName.slice(end + 2)
  if (!secretName.startsWith(namePrefix) || end <= namePrefix.length || !/^[1-9]\d{0,8}$/.test(digits)) return undefined
  return { name: secretName.slice(namePrefix.length, end), revision: Number(digits) }
}

/** @throws InvalidHelmRelease */
export function decodeReleaseSecret(secret: Secret, { unpacked = 64 * 2 ** 20 }: ReleaseLimits = {}): HelmRelease {
  const { type = 'Opaque', metadata, data } = secret
  const place = `Secret ${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`
  if (type !== releaseType) throw invalid(place, `its type is ${type}, not ${releaseType}`)
  const named = releaseNamed(metadata.name ?? '')
  if (!named) throw invalid(place, `its name is not ${namePrefix}NAME.vREVISION`)
  const packed = data && Object.hasOwn(data, 'release') ? data['release'] : undefined
  if (packed === undefined) throw invalid(place, 'it has no key "release"')
  const inner = fromBase64(packed, place).toString('latin1')
  const document = parseRecord(gunzip(fromBase64(inner, place), place, unpacked), place)
  const release = readRelease(document, metadata.namespace ?? 'default', place)
  if (release.name !== named.name || release.revision !== named.revision) {
    throw invalid(place, 'the release in it has another name or revision than the Secret')
  }
  return release
}

function fromBase64(text: string, place: string): Buffer {
  if (base64Problem(text) !== undefined) throw invalid(place, 'its key "release" is not base64')
  return Buffer.from(text, 'base64')
}

function gunzip(bytes: Buffer, place: string, maxOutputLength: number): Buffer {
  // Early releases of Helm did not compress.
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08
  if (!isGzip) return bytes
  try {
    return gunzipSync(bytes, { maxOutputLength })
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE')
      throw invalid(place, `the release in it has more than ${maxOutputLength} bytes`)
    throw invalid(place, 'the release in it is damaged')
  }
}

/** The error of the parser would show a part of the text. */
function parseRecord(bytes: Buffer, place: string): JsonObject {
  let record: Json
  try {
    record = parseJson(bytes.toString('utf8'))
  } catch {
    throw invalid(place, 'the release in it is not JSON')
  }
  if (!isJsonObject(record)) throw invalid(place, 'the release in it is not a JSON object')
  return record
}

function readRelease(document: JsonObject, namespace: string, place: string): HelmRelease {
  const info = objectAt(document, 'info', place)
  const hooks = ownMember(document, 'hooks') ?? []
  if (!isJsonArray(hooks)) throw invalid(place, 'hooks of the release is not a list')
  return {
    name: textAt(document, 'name', place),
    namespace: textAt(document, 'namespace', place) || namespace,
    revision: integerAt(document, 'version', place),
    status: textAt(info, 'status', place) || 'unknown',
    chart: objectAt(objectAt(document, 'chart', place), 'metadata', place),
    values: objectAt(document, 'config', place),
    manifest: textAt(document, 'manifest', place),
    hooks: hooks.map((hook) => readHook(hook, place)),
    document,
  }
}

function readHook(hook: Json, place: string): HelmReleaseHook {
  if (!isJsonObject(hook)) throw invalid(place, 'a hook of the release is not an object')
  return {
    name: textAt(hook, 'name', place),
    kind: textAt(hook, 'kind', place),
    path: textAt(hook, 'path', place),
    manifest: textAt(hook, 'manifest', place),
    events: textsAt(hook, 'events', place),
    weight: integerAt(hook, 'weight', place),
    deletePolicies: textsAt(hook, 'delete_policies', place),
  }
}

interface StoredAs {
  /** Seconds since 1970, for the label that Helm sets. @default no label */
  readonly createdAt?: number
}

/**
 * The Secret of a release, from which Helm goes on: `helm history`, `helm upgrade` and `helm rollback` read it. What the
 * document has and the release does not name is kept: templates and files of the chart, times, notes.
 */
export function encodeReleaseSecret(release: HelmRelease, { createdAt }: StoredAs = {}): Secret {
  const { name, namespace, revision, status } = release
  const text = stringifyJson(documentOf(release))
  const packed = gzipSync(Buffer.from(text), { level: 9 }).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: releaseType,
    metadata: {
      name: `${namePrefix}${name}.v${revision}`,
      namespace,
      labels: {
        ...(createdAt !== undefined && { createdAt: String(Math.floor(createdAt)) }),
        name,
        owner: 'helm',
        status,
        version: String(revision),
      },
    },
    data: { release: Buffer.from(packed).toString('base64') },
  }
}

function documentOf({
  document,
  name,
  namespace,
  revision,
  status,
  chart,
  values,
  manifest,
  hooks,
}: HelmRelease): Json {
  const [info, whole] = [ownMember(document, 'info'), ownMember(document, 'chart')]
  const known = ownMember(document, 'hooks')
  return {
    ...document,
    name,
    info: { ...(isJsonObject(info) && info), status },
    chart: {
      lock: null,
      templates: [],
      values: {},
      schema: null,
      files: [],
      ...(isJsonObject(whole) && whole),
      metadata: chart,
    },
    config: values,
    manifest,
    hooks: hooks.map((hook, index) => hookOf(hook, isJsonArray(known) ? known[index] : undefined)),
    version: revision,
    namespace,
  }
}

function hookOf({ deletePolicies, ...hook }: HelmReleaseHook, known: Json | undefined): Json {
  return {
    last_run: { phase: '' },
    ...(isJsonObject(known) && known['path'] === hook.path && known['name'] === hook.name && known),
    ...hook,
    ...(deletePolicies.length > 0 && { delete_policies: deletePolicies }),
  }
}

function objectAt(record: JsonObject, key: string, place: string): JsonObject {
  const value = ownMember(record, key) ?? {}
  if (!isJsonObject(value)) throw invalid(place, `${key} of the release is not an object`)
  return value
}

function textAt(record: JsonObject, key: string, place: string): string {
  const value = ownMember(record, key) ?? ''
  if (typeof value !== 'string') throw invalid(place, `${key} of the release is not text`)
  return value
}

function textsAt(record: JsonObject, key: string, place: string): readonly string[] {
  const value = ownMember(record, key) ?? []
  if (!isJsonArray(value) || !value.every((item) => typeof item === 'string'))
    throw invalid(place, `${key} of the release is not a list of texts`)
  return value
}

function integerAt(record: JsonObject, key: string, place: string): number {
  const value = ownMember(record, key) ?? 0
  if (!Number.isSafeInteger(value)) throw invalid(place, `${key} of the release is not an integer`)
  return Number(value)
}

function invalid(place: string, problem: string): MusterError {
  return new MusterError(platformErrors.InvalidHelmRelease, `${place} is no release of Helm: ${problem}.`)
}
