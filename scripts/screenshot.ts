/**
 * `node scripts/screenshot.ts`: takes docs/console.png, the console of `muster up` in a real browser, while an operator and another
 * field manager fight over a field. Run it when the console changes.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../src/client/connect.ts'
import { Deployment } from '../src/kube/kinds.ts'
import { startBrowser } from '../test/real/console/browser.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = await mkdtemp(path.join(tmpdir(), 'muster-screenshot-'))
const main = path.join(root, 'src', 'cli', 'main.ts')
const up = spawn(process.execPath, ['--conditions=muster-source', main, 'up', '--memory'], {
  cwd: folder,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await startBrowser()
try {
  const address = await new Promise<string>((resolve) => {
    createInterface({ input: up.stdout }).on('line', (line) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
  })
  const client = await connect({ kubeconfig: path.join(folder, '.muster', 'kubeconfig') })
  const sample = { namespace: 'default', name: 'sample' }
  const page = await browser.open(address)
  await page.resize(1180, 700)
  for (let times = 0; times < 14; times++) {
    const spec = { replicas: 7 + (times % 2) }
    await client.patch(Deployment, sample, { spec }, { type: 'merge', fieldManager: 'autoscaler' })
    await sleep(700)
  }
  await page.until(`document.querySelectorAll('#finding-list > li').length > 0`)
  await sleep(2000)
  await writeFile(path.join(root, 'docs', 'console.png'), await page.photograph())
  await client.close()
} finally {
  await browser.close()
  up.kill('SIGTERM')
  await rm(folder, { recursive: true, force: true })
}
