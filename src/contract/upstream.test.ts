import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { TransportRequest } from '../client/transport.ts'
import { outputFiles, writeFiles } from './output-directory.ts'
import { readOutput } from './output-reader.ts'
import { mutationOf } from './recorder.ts'
import type { RecordedMutation } from './mutation.ts'

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
  return mutationOf({ method, path: url, headers: { 'content-type': contentType }, body }, controller).mutation
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
    'have the names and bytes that upstream gives them: $request.method $request.path',
    (vector) => {
      expect(theirs(filesOf([recorded(vector)]))).toEqual(vector.files)
    },
  )

  it.each(vectors)('are read from upstream as what was asked: $request.method $request.path', (vector) => {
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

  it('are its own, even where two requests have the same hash: neither is lost', () => {
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
      const bodies = [...files.keys()].filter((name) => /.*-body-(.+).yaml/.test(name))
      expect(bodies).toHaveLength(2)
      for (const name of bodies) expect(files.has(name.replace('body', 'metadata'))).toBe(true)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
