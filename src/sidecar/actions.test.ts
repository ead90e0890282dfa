/** Real process shims and real programs: small scripts of node, which report to a server of the test and wait for its word. */
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually, failure, listen } from '../../test/loopback.ts'
import { systemClock } from '../clock/system-clock.ts'
import type { ActionRecord, ActionSpec } from './action.ts'
import { createFolder, digestOf, folderOf, noEnvironment } from './action-folder.ts'
import { type Actions, type ActionsOptions, openActions } from './actions.ts'

/** Calls the port in its input, reports that it is half way, and ends as the test replies: `result`, `exit 3`, `silent 0`. */
const obedient = `
  let text = ''
  process.stdin.on('data', (part) => (text += part)).on('end', () => {
    const { port, deaf } = JSON.parse(text)
    if (deaf) process.on('SIGTERM', () => undefined)
    const socket = require('node:net').connect(port, '127.0.0.1', () => {
      console.log('{"progress":0.5,"message":"half way"}')
      socket.write(process.env.MUSTER_ACTION_KEY)
    })
    socket.on('data', (words) => {
      const [verb, value] = String(words).split(' ')
      if (verb === 'complain') console.error(value)
      console.log(JSON.stringify({ progress: 1, result: { verb, greeting: process.env.GREETING } }))
      socket.destroy()
      process.exitCode = verb === 'exit' ? Number(value) : verb === 'complain' ? 1 : 0
    })
    socket.on('error', () => undefined)
  })`

const node = (script: string, more: Partial<ActionSpec> = {}): ActionSpec => ({
  command: [process.execPath, '-e', script],
  timeoutMs: 60_000,
  graceMs: 30_000,
  environment: noEnvironment,
  ...more,
})

const specs: ReadonlyMap<string, ActionSpec> = new Map([
  ['obey', node(obedient, { environment: { pass: ['SECRET'], set: {}, fromInput: { GREETING: 'greeting' } } })],
  ['hurry', node(obedient, { timeoutMs: 1, graceMs: 1 })],
  ['impatient', node(obedient, { graceMs: 1 })],
  ['absent', node('', { command: ['/no/such/program'] })],
  [
    'chatter',
    node(
      `for (let i = 0; i < 20000; i++) console.log('x'.repeat(100)); console.log('{' + 'x'.repeat(10_000_000)); console.log('{"result":"said"}')`,
    ),
  ],
])

let folder = ''
let port = 0
let calls: { readonly key: string; readonly socket: Socket }[] = []
let wake: () => void = () => undefined
const opened: Actions[] = []
const lines: string[] = []

beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), 'muster-actions-')), 'actions')
  calls = []
  lines.length = 0
  const server = createServer((socket) => {
    socket.once('data', (key) => {
      calls.push({ key: String(key), socket })
      wake()
    })
  })
  port = await listen(server)
})
afterEach(async () => {
  for (const actions of opened.splice(0)) {
    for (const { key } of actions.list()) await actions.cancel(key)
    for (const { socket } of calls) socket.destroy()
    await actions.idle()
    actions.close()
  }
  await rm(path.dirname(folder), { recursive: true, force: true, maxRetries: 10 })
})

async function open(more: Partial<ActionsOptions> = {}): Promise<Actions> {
  const actions = await openActions({
    clock: systemClock,
    folder,
    specs,
    concurrency: 4,
    remember: 100,
    environment: { ...process.env, SECRET: 'hidden-in-the-environment' },
    log: (line) => lines.push(line),
    ...more,
  })
  opened.push(actions)
  return actions
}

/** As a killed sidecar does: looks no longer, says nothing, leaves everything. */
function abandon(actions: Actions): void {
  actions.close()
  opened.splice(opened.indexOf(actions), 1)
}

/** The n-th program that called. */
async function call(index: number): Promise<Socket> {
  while (calls.length <= index) await new Promise<void>((resolve) => (wake = resolve))
  return calls[index]!.socket
}

async function when(actions: Actions, key: string, holds: (record: ActionRecord) => boolean): Promise<ActionRecord> {
  const { promise, resolve } = Promise.withResolvers<ActionRecord>()
  const check = (record: ActionRecord | undefined): void => {
    if (record?.key === key && holds(record)) resolve(record)
  }
  const stop = actions.onChange(check)
  check(actions.get(key))
  const found = await promise
  stop()
  return found
}

const end = (actions: Actions, key: string): Promise<ActionRecord> =>
  when(actions, key, ({ state }) => state !== 'running')

describe('an action', { timeout: 60_000 }, () => {
  it('starts once, reports progress, and ends with its result', async () => {
    const actions = await open()
    const input = { port, greeting: 'hello' }
    const { record, isNew } = await actions.start({ key: 'a', name: 'obey', input })
    expect({ record, isNew }).toMatchObject({ isNew: true, record: { key: 'a', name: 'obey', state: 'running' } })
    const socket = await call(0)
    await when(actions, 'a', ({ progress }) => progress === 0.5)
    const again = await actions.start({ key: 'a', name: 'obey', input: { greeting: 'hello', port } })
    expect(again).toMatchObject({ isNew: false, record: { progress: 0.5, message: 'half way' } })
    socket.write('result')
    expect(await end(actions, 'a')).toMatchObject({
      state: 'succeeded',
      exitCode: 0,
      progress: 1,
      result: { verb: 'result', greeting: 'hello' },
      startedAt: record.startedAt,
    })
    const last = await actions.start({ key: 'a', name: 'obey', input })
    expect(last).toMatchObject({ isNew: false, record: { state: 'succeeded' } })
    expect(calls.map(({ key }) => key)).toEqual(['a'])
  })

  it('requested concurrently, starts once', async () => {
    const actions = await open()
    const asked = Array.from({ length: 10 }, () => actions.start({ key: 'a', name: 'obey', input: { port } }))
    expect((await Promise.all(asked)).filter(({ isNew }) => isNew)).toHaveLength(1)
    ;(await call(0)).write('result')
    await end(actions, 'a')
    expect(calls).toHaveLength(1)
  })

  it('is rejected under a known key with another name or input, and does not start', async () => {
    const actions = await open()
    await actions.start({ key: 'a', name: 'obey', input: { port } })
    expect(await failure(actions.start({ key: 'a', name: 'chatter', input: { port } }))).toMatchObject({
      reason: 'Conflict',
    })
    expect(await failure(actions.start({ key: 'a', name: 'obey', input: { port, x: 1 } }))).toMatchObject({
      reason: 'Conflict',
    })
    expect(await failure(actions.start({ key: 'b', name: 'none' }))).toMatchObject({ reason: 'UnknownAction' })
    const nested = { port, greeting: { not: 'a text' } }
    expect(await failure(actions.start({ key: 'b', name: 'obey', input: nested }))).toMatchObject({
      reason: 'BadRequest',
    })
    expect(actions.list()).toHaveLength(1)
  })

  it('is rejected beyond the concurrency limit, until another one has ended', async () => {
    const actions = await open({ concurrency: 1 })
    await actions.start({ key: 'a', name: 'obey', input: { port } })
    const refused = await failure(actions.start({ key: 'b', name: 'obey', input: { port } }))
    expect(refused).toMatchObject({ reason: 'Busy', message: expect.stringContaining('"a"') as string })
    ;(await call(0)).write('result')
    await end(actions, 'a')
    expect(await actions.start({ key: 'b', name: 'obey', input: { port } })).toMatchObject({ isNew: true })
    ;(await call(1)).write('result')
    await end(actions, 'b')
  })

  it('fails with its exit code or signal, or because the program is missing', async () => {
    const actions = await open()
    await actions.start({ key: 'code', name: 'obey', input: { port } })
    ;(await call(0)).write('exit 3')
    expect(await end(actions, 'code')).toMatchObject({
      state: 'failed',
      reason: 'ExitCode',
      exitCode: 3,
      message: 'exit code 3',
    })
    await actions.start({ key: 'absent', name: 'absent' })
    expect(await end(actions, 'absent')).toMatchObject({
      state: 'failed',
      reason: 'NotStarted',
      message: expect.stringContaining('ENOENT') as string,
    })
  })

  it('with excessive output still ends', async () => {
    const actions = await open()
    await actions.start({ key: 'a', name: 'chatter' })
    expect(await end(actions, 'a')).toMatchObject({ state: 'succeeded', result: 'said' })
  })

  it('ends at its timeout, by force if necessary', async () => {
    const actions = await open()
    await actions.start({ key: 'a', name: 'hurry', input: { port, deaf: true } })
    expect(await end(actions, 'a')).toMatchObject({ state: 'failed', reason: 'TimedOut' })
  })

  it('ends on cancellation, by force if necessary', async () => {
    const actions = await open()
    for (const [key, deaf] of [
      ['soft', false],
      ['deaf', true],
    ] as const) {
      await actions.start({ key, name: deaf ? 'impatient' : 'obey', input: { port, deaf } })
      await when(actions, key, ({ progress }) => progress === 0.5)
      expect(await actions.cancel(key)).toMatchObject({ state: 'running' })
      expect(await end(actions, key)).toMatchObject({ state: 'failed', reason: 'Cancelled' })
    }
    expect(await actions.cancel('nobody')).toBeUndefined()
    expect(await actions.cancel('soft')).toMatchObject({ reason: 'Cancelled' })
  })

  it('cancelled before its start, never starts', async () => {
    const actions = await open()
    await actions.start({ key: 'a', name: 'obey', input: { port } })
    await actions.cancel('a')
    expect(await end(actions, 'a')).toMatchObject({ state: 'failed', reason: 'Cancelled' })
  })

  it('shows neither its input nor its environment in any record, message or log, and its input is not kept', async () => {
    const actions = await open()
    const input = { port, greeting: 'hidden-in-the-input' }
    await actions.start({ key: 'a', name: 'obey', input })
    ;(await call(0)).write('complain hidden-in-the-environment,hidden-in-the-input,visible')
    const record = await end(actions, 'a')
    expect(record.message).toBe('exit code 1: •••,•••,visible')
    const written = await Promise.all(
      (await readdir(folderOf(folder, 'a'))).map((name) => readFile(path.join(folderOf(folder, 'a'), name), 'utf8')),
    )
    // The program chose to tell the greeting as its result; that is its own affair.
    const shown = [...written, ...lines].join('\n').replaceAll('"greeting":"hidden-in-the-input"', '')
    expect(shown).not.toContain('hidden')
  })

  it('is forgotten beyond the limit of remembered actions, with its folder', async () => {
    const actions = await open({ remember: 1 })
    for (const key of ['a', 'b']) {
      await actions.start({ key, name: 'absent' })
      await end(actions, key)
    }
    await eventually(() => actions.list().length === 1)
    expect(actions.list().map(({ key }) => key)).toEqual(['b'])
  })
})

describe('an action whose sidecar was killed', { timeout: 60_000 }, () => {
  it('continues, and the next sidecar observes it to its end', async () => {
    const first = await open()
    const { record } = await first.start({ key: 'a', name: 'obey', input: { port } })
    const socket = await call(0)
    abandon(first)
    const second = await open()
    expect(second.get('a')).toMatchObject({ state: 'running', startedAt: record.startedAt })
    expect(await second.start({ key: 'a', name: 'obey', input: { port } })).toMatchObject({ isNew: false })
    socket.write('result')
    expect(await end(second, 'a')).toMatchObject({ state: 'succeeded', result: { verb: 'result' } })
    expect(calls).toHaveLength(1)
  })

  it('may end meanwhile, without losing its result', async () => {
    const first = await open()
    await first.start({ key: 'a', name: 'obey', input: { port } })
    const socket = await call(0)
    abandon(first)
    socket.write('result')
    const witness = await open()
    await end(witness, 'a')
    abandon(witness)
    const second = await open()
    expect(second.get('a')).toMatchObject({ state: 'succeeded', result: { verb: 'result' }, progress: 1 })
    expect(await second.start({ key: 'a', name: 'obey', input: { port } })).toMatchObject({ isNew: false })
    expect(calls).toHaveLength(1)
  })

  it('can be cancelled by the next sidecar', async () => {
    const first = await open()
    await first.start({ key: 'a', name: 'obey', input: { port } })
    await call(0)
    abandon(first)
    const second = await open()
    await second.cancel('a')
    expect(await end(second, 'a')).toMatchObject({ state: 'failed', reason: 'Cancelled' })
  })

  it('that was recorded but not started is started by the next sidecar', async () => {
    await mkdir(folder, { recursive: true })
    const input = { port }
    const saved = {
      key: 'a',
      name: 'obey',
      startedAt: '2026-01-01T00:00:00.000Z',
      inputDigest: digestOf(input),
      spec: specs.get('obey')!,
    }
    await createFolder(folder, saved, input)
    const actions = await open()
    expect(actions.get('a')).toMatchObject({ state: 'running', startedAt: saved.startedAt })
    ;(await call(0)).write('result')
    expect(await end(actions, 'a')).toMatchObject({ state: 'succeeded' })
  })

  it('is started once, however many sidecars find it not started', async () => {
    await mkdir(folder, { recursive: true })
    const input = { port }
    const saved = {
      key: 'a',
      name: 'obey',
      startedAt: '2026-01-01T00:00:00.000Z',
      inputDigest: digestOf(input),
      spec: specs.get('obey')!,
    }
    await createFolder(folder, saved, input)
    const several = await Promise.all([open(), open(), open()])
    ;(await call(0)).write('result')
    for (const actions of several) expect(await end(actions, 'a')).toMatchObject({ state: 'succeeded' })
    expect(calls).toHaveLength(1)
  })

  it('is lost when its process shim was killed too, and is not started again', async () => {
    const first = await open()
    await first.start({ key: 'a', name: 'obey', input: { port } })
    const socket = await call(0)
    await when(first, 'a', ({ progress }) => progress === 0.5)
    abandon(first)
    const { pid } = JSON.parse(await readFile(path.join(folderOf(folder, 'a'), 'claim.json'), 'utf8')) as {
      readonly pid: number
    }
    process.kill(-pid, 'SIGKILL')
    await once(socket, 'close')
    const second = await open()
    expect(await end(second, 'a')).toMatchObject({ state: 'lost', progress: 0.5 })
    expect(await second.start({ key: 'a', name: 'obey', input: { port } })).toMatchObject({
      isNew: false,
      record: { state: 'lost' },
    })
    abandon(second)
    expect((await open()).get('a')).toMatchObject({ state: 'lost' })
    expect(calls).toHaveLength(1)
  })

  it('whose process shim alone was killed continues: it is lost at its end, or cancelled by force', async () => {
    const actions = await open()
    for (const [index, key] of ['end', 'cancel'].entries()) {
      await actions.start({ key, name: 'impatient', input: { port, deaf: true } })
      const socket = await call(index)
      await when(actions, key, ({ progress }) => progress === 0.5)
      const claim = await readFile(path.join(folderOf(folder, key), 'claim.json'), 'utf8')
      process.kill((JSON.parse(claim) as { readonly pid: number }).pid, 'SIGKILL')
      if (key === 'end') socket.write('exit 0')
      else await actions.cancel(key)
      const { state, reason } = await end(actions, key)
      expect([key, state, reason]).toEqual(
        key === 'end' ? ['end', 'lost', undefined] : ['cancel', 'failed', 'Cancelled'],
      )
      // Whatever was said of it, it is over.
      if (!socket.destroyed) await once(socket, 'close')
    }
  })
})

describe('after a crash', { timeout: 60_000 }, () => {
  it('temporary files are removed, truncated files are ignored, and a key with an unreadable record is not started again', async () => {
    const actions = await open()
    await actions.start({ key: 'good', name: 'absent' })
    await end(actions, 'good')
    abandon(actions)
    await mkdir(path.join(folder, 'draft-1234'))
    await writeFile(path.join(folder, 'draft-1234', 'input.json'), '{"half')
    await mkdir(folderOf(folder, 'torn'))
    await writeFile(path.join(folderOf(folder, 'torn'), 'action.json'), '{"key":"to')
    await writeFile(path.join(folderOf(folder, 'good'), 'progress.json'), '{')
    await writeFile(path.join(folder, 'a file of somebody else'), '')
    const next = await open()
    expect(next.list().map(({ key, state }) => [key, state])).toEqual([['good', 'failed']])
    expect(await readdir(folder)).not.toContain('draft-1234')
    expect(await failure(next.start({ key: 'torn', name: 'obey', input: { port } }))).toMatchObject({
      reason: 'Conflict',
    })
    expect(calls).toHaveLength(0)
  })

  it('a truncated outcome is ignored: the action is lost', async () => {
    const first = await open()
    await first.start({ key: 'a', name: 'absent' })
    await end(first, 'a')
    abandon(first)
    await writeFile(path.join(folderOf(folder, 'a'), 'outcome.json'), '{"state":"succ')
    const second = await open()
    expect(await end(second, 'a')).toMatchObject({ state: 'lost' })
  })

  it('an action that cannot be recorded is not started', async () => {
    const actions = await open()
    await rm(folder, { recursive: true })
    expect(await failure(actions.start({ key: 'a', name: 'obey', input: { port } }))).toMatchObject({
      reason: 'StorageFailed',
    })
    expect(actions.list()).toEqual([])
    expect(calls).toHaveLength(0)
  })
})
