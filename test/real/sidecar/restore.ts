/** The counterpart of backup.ts, for a server that is down: `{ "source": FILE, "data": FOLDER }`. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'

const { source, data } = JSON.parse(readFileSync(0, 'utf8')) as { readonly source: string; readonly data: string }
rmSync(data, { recursive: true, force: true })
mkdirSync(data)
copyFileSync(source, path.join(data, 'dump.rdb'))
console.log(JSON.stringify({ progress: 1, result: { restored: source } }))
