/**
 * A small process that outlives its parent by a moment, to leave nothing behind.
 *
 * It reads lines on stdin: `+pid` and `-pid` for processes started and ended, `dir PATH` for a folder. When stdin ends
 * the parent is gone, however it died, worker threads and SIGKILL included: then the processes are killed and the
 * folders removed.
 */
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

const pids = new Set<number>()
const folders = new Set<string>()

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  if (line.startsWith('+')) pids.add(Number(line.slice(1)))
  else if (line.startsWith('-')) pids.delete(Number(line.slice(1)))
  else if (line.startsWith('dir ')) folders.add(line.slice(4))
})
lines.on('close', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Already gone: that is what was wanted.
    }
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})
