/** Where the process of kube-apiserver begins: see `apiserver-program.ts`. */
import { enableCompileCache } from 'node:module'
import { serveApiServer } from './apiserver-program.ts'
import { runEntry } from './program-main.ts'

// Before the server is loaded, so that the next start finds its compiled code.
enableCompileCache()
runEntry(serveApiServer)
