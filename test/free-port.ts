/**
 * A loopback port on which no program listens. Listen on it once.
 *
 * It lies below the ephemeral range, from which the kernel serves outgoing connections and listeners on port 0, and each worker
 * of the test runner, thread or process, has numbers of its own. So it stays free until the caller listens on it.
 *
 * No test listens on a port again that it has closed: while another thread starts a program, the child holds a copy of every
 * socket between `fork` and `exec`, and the port stays taken.
 */
import { connect } from 'node:net'
import { threadId } from 'node:worker_threads'

/** Above the well-known ports of databases and web servers, below every ephemeral range in use (Linux starts at 32,768). */
const firstPort = 12_000
const lastPort = 31_999
const portsPerWorker = 10

/** Workers of one test run differ in their thread, or in their process, whose ids are close together: their shares differ. */
let next = ((process.pid + threadId) * portsPerWorker) % (lastPort - firstPort + 1)

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt <= lastPort - firstPort; attempt++) {
    const port = firstPort + next
    next = (next + 1) % (lastPort - firstPort + 1)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${firstPort} to ${lastPort}`)
}

/** By a connection that is refused: a listener of our own would be copied like any other. */
async function isFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => resolve(true))
  })
}
