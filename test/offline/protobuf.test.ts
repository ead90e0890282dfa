/** Protobuf as real servers and Go's own round-trip data have it: read to the same JSON, written to the same bytes. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { kubernetesVersion } from '../../scripts/kube/sources.ts'
import { type JsonObject, equalJson, parseJson } from '../../src/kube/json.ts'
import { decodeProtobuf } from '../../src/kube/protobuf/decode.ts'
import { encodeProtobuf } from '../../src/kube/protobuf/encode.ts'
import type { ProtobufVector } from '../vectors/cases/protobuf.ts'
import { readVectors } from '../vectors/read.ts'

const { vectors } = await readVectors<ProtobufVector>('protobuf')

describe('an object recorded as JSON and protobuf', () => {
  it('exists for every requested kind', () => expect(vectors.length).toBeGreaterThan(45))

  for (const { name, object, protobuf } of vectors) {
    const bytes = Buffer.from(protobuf, 'base64')
    it(`${name} decodes to its JSON`, () => expect(decodeProtobuf(bytes)).toEqual(asSent(object)))
    it(`${name} encodes to its bytes`, () => {
      expect(Buffer.from(encodeProtobuf(object as JsonObject)!).toString('base64')).toBe(protobuf)
    })
  }
})

/** Protobuf has no place for the kind of an object inside of another; who reads it sets it as a default. */
function asSent(object: object): unknown {
  const { spec } = object as { readonly spec?: { readonly volumeClaimTemplates?: readonly JsonObject[] } }
  if (!spec?.volumeClaimTemplates) return object
  const volumeClaimTemplates = spec.volumeClaimTemplates.map(
    ({ apiVersion: _apiVersion, kind: _kind, ...claim }) => claim,
  )
  return { ...object, spec: { ...spec, volumeClaimTemplates } }
}

/** One object of each kind with every member set, in all encodings: what Kubernetes itself is tested with. */
const moduleCache =
  process.env['GOMODCACHE'] ?? path.join(process.env['GOPATH'] ?? path.join(os.homedir(), 'go'), 'pkg', 'mod')
const golden = path.join(moduleCache, 'k8s.io', `api@${kubernetesVersion.replace(/^1/, 'v0')}`, 'testdata', 'HEAD')

// Only where they are at hand; nothing is downloaded for a test.
describe.each([golden].filter(existsSync))('the round-trip data of Kubernetes', (folder) => {
  const read = (name: string, extension: string): Buffer => readFileSync(path.join(folder, `${name}.${extension}`))
  const names = globSync('*.pb', { cwd: folder })
    .map((file) => file.slice(0, -3))
    .filter((name) => decodeProtobuf(read(name, 'pb')) !== undefined)

  it('covers the served kinds', () => expect(names.length).toBeGreaterThan(100))

  it('decodes to its JSON and encodes to its bytes', () => {
    const different = names.filter((name) => {
      const [bytes, object] = [read(name, 'pb'), parseJson(read(name, 'json').toString())]
      const written = encodeProtobuf(object as JsonObject)
      return !equalJson(decodeProtobuf(bytes), object) || !written || Buffer.compare(written, bytes) !== 0
    })
    expect(different).toEqual([])
  })
})
