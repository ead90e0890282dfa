/**
 * An action as an author would write it: takes a snapshot of a Redis server into a file, while the server serves on.
 * Input: `{ "target": FILE }`. The file appears under its name only when it is whole.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs'

const { target } = JSON.parse(readFileSync(0, 'utf8')) as { readonly target: string }
const { REDIS_CLI = '', REDIS_PORT = '', BEGINNINGS = '', MUSTER_ACTION_KEY } = process.env
const say = (line: unknown): void => console.log(JSON.stringify(line))

// The suite counts how often it was started.
appendFileSync(BEGINNINGS, `${MUSTER_ACTION_KEY}\n`)
say({ progress: 0.1, message: 'asking for a snapshot' })
const { status, stderr } = spawnSync(REDIS_CLI, ['-p', REDIS_PORT, '--rdb', `${target}.part`], { encoding: 'utf8' })
if (status !== 0) {
  console.error(stderr.trim().split('\n').at(-1))
  process.exit(status ?? 1)
}
say({ progress: 0.9, message: 'the snapshot is here' })
const sha256 = createHash('sha256')
  .update(readFileSync(`${target}.part`))
  .digest('hex')
renameSync(`${target}.part`, target)
say({ progress: 1, message: 'done', result: { bytes: statSync(target).size, sha256 } })
