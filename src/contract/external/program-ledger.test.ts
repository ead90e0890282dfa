import { describe, expect, it } from 'vitest'
import { configMap, configMaps } from '../../../test/embedded.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { RecordedMutation } from '../declaration/mutation.ts'
import { entryOf, ledgerMutationOf, type SentMutation } from './program-ledger.ts'

const object = (resourceVersion: string, k = 'v'): UntypedObject => {
  const made = configMap('a', { k })
  return { ...made, metadata: { ...made.metadata, resourceVersion } }
}

function sent(change: Partial<RecordedMutation>, rest: Partial<SentMutation> = {}): SentMutation {
  const mutation: RecordedMutation = {
    verb: 'Apply',
    type: { group: '', version: 'v1', resource: 'configmaps' },
    namespace: 'default',
    name: 'a',
    generateName: '',
    controller: 'c',
    body: '',
    options: {},
    ...change,
  }
  const read = { folder: 'Configuration', mutation, content: { data: { k: 'v' } }, file: 'f', sequence: 1 } as const
  return {
    checked: { read, resource: configMaps },
    before: undefined,
    isSeen: true,
    ours: undefined,
    outcome: { result: 'done', object: object('2') },
    ...rest,
  }
}

describe('the ledger entry of a write', () => {
  it.each<[string, SentMutation]>([
    ['created', sent({})],
    ['created', sent({ verb: 'Create' }, { isSeen: false })],
    // The object is not among the watched inputs, so the host cannot know whether the apply created it.
    ['updated', sent({}, { isSeen: false })],
    ['unchanged', sent({}, { before: object('2') })],
    ['unchanged', sent({}, { isSeen: false, ours: '2' })],
    ['updated', sent({}, { before: object('1', 'other'), ours: '1' })],
    ['updated', sent({}, { before: object('1', 'other') })],
    // It was not as we had left it.
    ['corrected', sent({}, { before: object('1', 'other'), ours: '0' })],
    ['created', sent({}, { ours: '1' })],
    ['statusWritten', sent({ subresource: 'status' }, { before: object('1') })],
    ['acted', sent({ verb: 'Create', subresource: 'eviction' }, { outcome: { result: 'done' } })],
    ['deleted', sent({ verb: 'Delete' }, { outcome: { result: 'done' } })],
    // A trial changes nothing, whatever the server says that it would.
    ['unchanged', sent({ verb: 'Delete', options: { dryRun: ['All'] } }, { outcome: { result: 'done' } })],
    ['unchanged', sent({ verb: 'Create', options: { dryRun: ['All'] } })],
    ['failed', sent({}, { outcome: { result: 'failed', error: new Error('no') } })],
  ])('%s', (operation, of) => {
    expect(entryOf(of)).toMatchObject({
      operation,
      subject: 'configmap default/a',
      kind: 'v1 ConfigMap',
      ...(operation === 'corrected' && { fields: ['data.k'] }),
      ...(operation === 'failed' && { message: 'no' }),
    })
  })

  it('contains the names that the server generated', () => {
    const made = sent({ verb: 'Create', name: '', generateName: 'a-' })
    expect(entryOf(made).name).toEqual({ name: 'a', namespace: 'default' })
    expect(ledgerMutationOf(made.checked)).toMatchObject({ verb: 'apply', object: { metadata: { name: 'a-' } } })
  })
})
