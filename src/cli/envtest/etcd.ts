/** Where the process of etcd begins: see `etcd-program.ts`. */
import { serveEtcd } from './etcd-program.ts'
import { runEntry } from './program-main.ts'

runEntry(serveEtcd)
