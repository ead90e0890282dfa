import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { defineTask } from '../../operator/task/task.ts'
import { openResultFolder } from './result-folder.ts'
import { createTaskRunner } from './task-runner.ts'

describe('results on disk', () => {
  const folders: string[] = []
  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-tasks-'))
    folders.push(folder)
    return folder
  }
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
  })

  /** Asks in a process of its own; whether the task ran. */
  const work = async (folder: string, input: unknown, maxBytes?: number): Promise<boolean> => {
    let ran = false
    const task = defineTask({ name: 'work', run: (given: unknown) => ((ran = true), { given }) })
    const runner = createTaskRunner({
      folder: openResultFolder(folder, maxBytes === undefined ? {} : { maxBytes }),
      runBlocking: (_key, run) => run(),
    })
    expect(await runner.openCaller(() => undefined).result(task, input)).toEqual({ given: input })
    await runner.close()
    return ran
  }

  it('survive a restart', async () => {
    const folder = await newFolder()
    expect([await work(folder, 'a'), await work(folder, 'a'), await work(folder, 'b')]).toEqual([true, false, true])
    expect(await readdir(folder)).toHaveLength(2)
  })

  it.each([
    ['cut', (content: string) => content.slice(0, -3)],
    ['empty', () => ''],
    ['changed', (content: string) => content.replace('given', 'taken')],
  ])('are worked out again if a file is %s', async (_what, damage) => {
    const folder = await newFolder()
    await work(folder, 'a')
    const file = path.join(folder, (await readdir(folder))[0]!)
    await writeFile(file, damage(await readFile(file, 'utf8')))
    expect(await work(folder, 'a')).toBe(true)
    expect(await work(folder, 'a')).toBe(false)
  })

  it('are limited: the oldest go', async () => {
    const folder = await newFolder()
    for (const input of ['a', 'b', 'c', 'd']) await work(folder, input, 200)
    expect(await readdir(folder)).toHaveLength(2)
    expect([await work(folder, 'd', 200), await work(folder, 'a', 200)]).toEqual([false, true])
  })

  it('are optional: a folder that cannot be written costs nothing', async () => {
    const folder = await newFolder()
    const file = path.join(folder, 'file')
    await writeFile(file, '')
    expect([await work(file, 'a'), await work(file, 'a')]).toEqual([true, true])
  })
})
