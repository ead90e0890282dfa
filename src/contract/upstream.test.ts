import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readAsUpstream, type UpstreamRequest } from '../../test/contract/upstream-reader.ts'
import { memcached } from '../../test/examples.ts'
import type { TransportRequest } from '../transport/transport.ts'
import { runContractCommand } from './commands.ts'
import { actionOf, type ClusterFolder, type RecordedMutation } from './declaration/mutation.ts'
import { outputFiles, type PlacedFile, writeFiles } from './directory/output-directory.ts'
import { type ReadMutation, readOutput } from './directory/output-reader.ts'
import { recordedMutationOf } from './offline/recorder.ts'

interface Vector {
  readonly request: {
    readonly method: TransportRequest['method']
    readonly path: string
    readonly contentType: string
    readonly controller: string
    readonly body: string
  }
  readonly files: Readonly<Record<string, string>>
}

/** Requests, and the files that upstream's own recorder wrote for them. */
const vectors = JSON.parse(
  readFileSync(new URL('../../test/contract/requests.json', import.meta.url), 'utf8'),
) as readonly Vector[]

function recorded({ request }: Vector): RecordedMutation {
  const { method, path: url, contentType, controller, body } = request
  return recordedMutationOf({ method, path: url, headers: { 'content-type': contentType }, body }, controller).mutation
}

function filesOf(mutations: readonly RecordedMutation[]): ReadonlyMap<string, string> {
  const placed = mutations.map((mutation) => ({ mutation, folders: ['Configuration'] as const, content: undefined }))
  return outputFiles({ mutations: placed, results: [] })
}

/** What upstream writes, too. */
function theirs(files: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return Object.fromEntries([...files].filter(([name]) => !/(?:order|controller-results)\.yaml$/.test(name)))
}

/** They keep a patch of a Namespace in that namespace, as if it were in itself. */
function isInItself({ request }: Vector): boolean {
  return request.method === 'PATCH' && /^\/api\/v1\/namespaces\/[^/]+$/.test(request.path)
}

describe('the files of a request', () => {
  it.each(vectors.filter((vector) => !isInItself(vector)))(
    'have the names and bytes of upstream: $request.method $request.path',
    (vector) => {
      expect(theirs(filesOf([recorded(vector)]))).toEqual(vector.files)
    },
  )

  it.each(vectors)('of upstream are read as the original request: $request.method $request.path', (vector) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'upstream-'))
    try {
      writeFiles(folder, new Map(Object.entries(vector.files)))
      const { mutations } = readOutput(folder)
      const { body, ...asked } = recorded(vector)
      expect(mutations.map(({ mutation }) => mutation)).toEqual([{ ...asked, body }])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('are distinct, even where two requests have the same hash: neither is lost', () => {
    const [first] = vectors
    const one = recorded(first!)
    const other = { ...one, controller: 'other' }
    const files = filesOf([one, other])
    const folder = mkdtempSync(path.join(tmpdir(), 'upstream-'))
    try {
      writeFiles(folder, files)
      const read = readOutput(folder).mutations
      expect(read.map(({ mutation }) => mutation.controller).toSorted()).toEqual(['demo', 'other'])
      expect(new Set(read.map(({ sequence }) => sequence))).toEqual(new Set([1, 2]))
      // Upstream finds the others by the word "body" in the name, whatever stands before it.
      const { requests } = readAsUpstream(folder)
      expect(requests.map(({ metadata }) => metadata.controllerInstanceName).toSorted()).toEqual(['demo', 'other'])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

type Asked = Vector['request']

const asked = (method: Asked['method'], url: string, body: object): RecordedMutation =>
  recorded({
    request: { method, path: url, contentType: 'application/json', controller: 'demo', body: JSON.stringify(body) },
    files: {},
  })

/** What upstream's recorder refuses, and ours does not. */
const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 3 } }
const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }
const beyond: readonly RecordedMutation[] = [
  asked('DELETE', '/api/v1/namespaces/default/configmaps/gone?propagationPolicy=Orphan', {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
  }),
  asked('PUT', '/apis/apps/v1/namespaces/default/deployments/d/scale', scale),
  asked('PUT', '/api/v1/namespaces/team', team),
]

function written(files: ReadonlyMap<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'upstream-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFiles(folder, files)
  return folder
}

/** Upstream's tools know these actions; other subresources are appended to the verb: `UpdateScale`. */
const upstreamActions = new Set('Create Update UpdateStatus Apply ApplyStatus Patch PatchStatus Delete'.split(' '))

/** What our own reader found, in upstream's words; without what these have no word for. */
function inTheirWords({ folder, mutation }: ReadMutation): readonly Omit<UpstreamRequest, 'kind' | 'options'>[] {
  const { type, body, controller, name, generateName, namespace = '', fieldManager = '', patchType = '' } = mutation
  const action = actionOf(mutation)
  if (!upstreamActions.has(action)) return []
  const resourceType = { Group: type.group, Resource: type.resource, Version: type.version }
  const who = { action, controllerInstanceName: controller, fieldManager, generateName, name, namespace, patchType }
  return [{ cluster: folder, metadata: { ...who, resourceType }, body }]
}

describe('our output directory, read as upstream does', () => {
  const known = vectors.filter((vector) => !isInItself(vector))
  const placed = (mutations: readonly RecordedMutation[], folder: ClusterFolder): readonly PlacedFile[] =>
    mutations.map((mutation) => ({ mutation, folders: [folder], content: undefined }))
  const files = outputFiles({
    mutations: [...placed(known.map(recorded), 'Configuration'), ...placed(beyond, 'Management')],
    results: [{ controller: 'demo', status: 'Failed', errors: ['no'] }],
  })

  it('is equivalent where upstream supports it, and the rest is ignored', () => {
    const own = readAsUpstream(written(new Map(known.flatMap((vector) => Object.entries(vector.files)))))
    const { requests, results, passedOver } = readAsUpstream(written(files))
    expect(requests.filter(({ cluster }) => cluster === 'Configuration')).toEqual(own.requests)
    expect(own.requests).toHaveLength(known.length)
    expect(results).toEqual({ demo: 'Failed' })
    const of = (action: string, name: string): object => ({ action, name, controllerInstanceName: 'demo' })
    expect(requests.filter(({ cluster }) => cluster === 'Management')).toMatchObject([
      {
        metadata: { ...of('Delete', 'gone'), namespace: 'default' },
        kind: 'DeleteOptions',
        options: 'propagationPolicy: Orphan\n',
      },
      { metadata: { ...of('Update', 'team'), namespace: '' }, kind: 'Namespace', options: '' },
    ])
    expect(passedOver.map((file) => file.replace(/[0-9a-f]{4}-/, ''))).toEqual([
      'Configuration/order.yaml',
      'Management/UpdateScale/namespaces/default/apps/deployments/body-d.yaml',
      'Management/UpdateScale/namespaces/default/apps/deployments/metadata-d.yaml',
      'Management/order.yaml',
    ])
  })

  it.each<[string, () => Promise<string>]>([
    ['of requests', () => Promise.resolve(written(files))],
    [
      'of an example',
      async () => {
        const folder = written(new Map())
        const input = 'examples/memcached/tests/creates/input-dir'
        const words = ['apply-configuration', '--input-dir', input, '--output-dir', folder]
        const silent = (): void => undefined
        expect(await runContractCommand(memcached, words, { out: silent, err: silent })).toBe(0)
        return folder
      },
    ],
  ])('is to upstream what it is to us: %s', async (_, made) => {
    const folder = await made()
    const { requests } = readAsUpstream(folder)
    const ours = readOutput(folder).mutations.flatMap(inTheirWords)
    expect(ours.length).toBeGreaterThan(2)
    const seen = requests.map(({ cluster, metadata, body }) => ({ cluster, metadata, body }))
    expect(seen).toHaveLength(ours.length)
    expect(seen).toEqual(expect.arrayContaining([...ours]))
  })

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['an order at the top level', { 'order.yaml': '' }, /order\.yaml does not belong at the top/],
    ['undeclared writes', { 'Unspecified/Create/a-body-a.yaml': '' }, /Unspecified does not belong/],
    ['a body only', { 'Management/Create/0000-body-a.yaml': 'kind: A' }, /0000-metadata-a\.yaml is missing/],
    [
      'a body without a kind',
      { 'Management/Update/0000-body-a.yaml': '{}', 'Management/Update/0000-metadata-a.yaml': '{}' },
      /does not say of which kind/,
    ],
    [
      'a name that is not a string',
      { 'Management/Patch/0000-body-a.yaml': '[]', 'Management/Patch/0000-metadata-a.yaml': 'name: 7' },
      /name is no text/,
    ],
  ])('would fail with %s', (_, more, why) => {
    expect(() => readAsUpstream(written(new Map([...files, ...Object.entries(more)])))).toThrow(why)
  })

  it('is read by us, but not by upstream, where a name contains the separator word', () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-body-b', namespace: 'default' } }
    const folder = written(filesOf([asked('POST', '/api/v1/namespaces/default/configmaps', object)]))
    expect(readOutput(folder).mutations.map(({ mutation }) => mutation.name)).toEqual(['a-body-b'])
    expect(() => readAsUpstream(folder)).toThrow(/-metadata-a-metadata-b\.yaml is missing/)
  })
})
