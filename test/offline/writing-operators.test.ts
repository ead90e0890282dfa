/** Follows docs/writing-operators.md: runs its commands, writes its files, in the order of the text. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { check, type Ended, emptyFolder, install, muster } from '../project.ts'

const text = await readFile(new URL('../../docs/writing-operators.md', import.meta.url), 'utf8')

/** All plans of a simulation take a while; the suite that has them sets this. */
const playsAll = process.env['MUSTER_ALL_PLANS'] === '1'

/** Commands that need a cluster. */
const elsewhere = /^(?:kubectl|export|npx muster run) /

it('the tutorial on operators works, step by step', { timeout: playsAll ? 900_000 : 180_000 }, async () => {
  let folder = await emptyFolder()
  const written: string[] = []
  const ends: Ended[] = []
  const follow = async (line: string): Promise<void> => {
    const [program, ...words] = line
      .replace(/^npx /, '')
      .replace(playsAll ? / --limit \d+$/ : '', '')
      .split(' ')
    if (program === 'muster') ends.push(await muster(folder, ...words))
    else if (program === 'cd') folder = path.join(folder, words[0]!)
    else if (line === 'npm install') await install(folder)
    else if (line !== 'npm test') throw new Error(`the test does not know what to do with: ${line}`)
    // What `muster init` makes passes: that is shown elsewhere, and takes its time.
    else if (written.length > 0) ends.push(await check(folder))
  }
  for (const [, language, file, body = ''] of text.matchAll(/^```(\w+)(?: (\S+))?\n([^]*?)^```$/gm)) {
    if (language === 'sh') {
      for (const line of body.trim().split('\n')) if (!elsewhere.test(line)) await follow(line)
    } else {
      written.push(file!)
      await writeFile(path.join(folder, file!), body)
    }
  }
  expect(written).toEqual(['src/kind.ts', 'src/service.ts', 'src/operator.ts', 'src/guestbook.test.ts'])
  expect(ends.filter(({ code }) => code !== 0)).toEqual([])
  const told = ends.map(({ stdout }) => stdout).join('')
  expect(told).toContain('pass 4')
  expect(told).toContain('guestbook: no law is broken')
  expect(await readdir(path.join(folder, 'deploy'))).toEqual(['guestbooks.example.com.yaml', 'rbac.yaml'])
})
