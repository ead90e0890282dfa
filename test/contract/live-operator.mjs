/**
 * A live operator: it reads the version of the user-workload cluster, and tries to reach other addresses. MANAGEMENT
 * and OUTSIDE are further addresses to try.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as dial } from 'node:net'
import { connect as secure } from 'node:tls'

const namespace = process.env.NAMESPACE
const [command, ...words] = process.argv.slice(2)
const flag = (name) => words[words.indexOf(name) + 1]
const configMap = { group: '', version: 'v1', resource: 'configmaps', namespace, name: 'live' }

/** A tunnel through the proxy, or the proxy's error. */
function through(target) {
  const proxy = new URL(process.env.HTTPS_PROXY)
  return new Promise((resolve, reject) => {
    const socket = dial(Number(proxy.port), proxy.hostname, () => socket.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`))
    socket.on('error', reject)
    socket.once('data', (text) => {
      const status = Number(String(text).split(' ')[1])
      resolve(status === 200 ? { status, socket } : { status })
    })
  })
}

async function versionOf({ cluster, user }) {
  const { host, hostname } = new URL(cluster.server)
  const { socket } = await through(host)
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64')
  const servername = cluster['tls-server-name'] ?? (/^[\d.]+$/.test(hostname) ? '' : hostname)
  const line = secure({ socket, ca, servername, checkServerIdentity: () => undefined })
  line.write(
    `GET /version HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${user.token}\r\nconnection: close\r\n\r\n`,
  )
  const [answer] = await new Promise((resolve, reject) =>
    line.once('data', (...all) => resolve(all)).on('error', reject),
  )
  return String(answer).split(' ')[1]
}

/** The response of plain HTTP through the proxy. */
function fetched(target) {
  return new Promise((resolve, reject) => {
    const asked = request(process.env.HTTP_PROXY, { path: `http://${target}/` }, async (answer) =>
      resolve(`${answer.statusCode} ${Buffer.concat(await answer.toArray())}`),
    )
    asked.on('error', reject).end()
  })
}

/** The result of a direct connection. */
function direct(target) {
  const { hostname, port } = new URL(`http://${target}`)
  return new Promise((resolve) => {
    const socket = dial(Number(port), hostname, () => resolve('reached'))
    socket.on('error', ({ code }) => resolve(code))
  })
}

if (command === 'input-resources') {
  console.log(JSON.stringify({ applyConfigurationResources: { exactResources: [configMap] } }))
} else if (command === 'output-resources') {
  console.log(JSON.stringify({ userWorkloadResources: { exactResources: [configMap] } }))
} else if (command === 'apply-configuration-live') {
  const { clusters, users } = JSON.parse(readFileSync(flag('--kubeconfig'), 'utf8'))
  const { sub } = JSON.parse(Buffer.from(users[0].user.token.split('.')[1], 'base64url'))
  const data = {
    as: sub,
    cluster: await versionOf({ ...clusters[0], ...users[0] }),
    elsewhere: String((await through('elsewhere.example.com:443')).status),
  }
  const { MANAGEMENT: management, OUTSIDE: outside } = process.env
  if (management) {
    data.servers = clusters.map(({ cluster }) => cluster.server).join()
    data.management = `${(await through(management)).status}, ${await direct(management)}`
    data.outside = `${await fetched(outside)}, ${await direct(outside)}`
    data.unproxied = JSON.stringify([process.env.NO_PROXY, process.env.no_proxy])
  }
  const place = `${flag('--output-dir')}/UserWorkload/Apply/namespaces/${namespace}/core/configmaps`
  mkdirSync(place, { recursive: true })
  const metadata = { name: 'live', namespace }
  writeFileSync(`${place}/0-body-live.yaml`, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
  writeFileSync(`${place}/0-options-live.yaml`, JSON.stringify({ force: true }))
  const resourceType = { Group: '', Version: 'v1', Resource: 'configmaps' }
  const told = { action: 'Apply', controllerInstanceName: 'live', ...metadata, generateName: '', resourceType }
  writeFileSync(`${place}/0-metadata-live.yaml`, JSON.stringify(told))
  const controllerResults = [{ controllerName: 'live', status: 'Succeeded' }]
  writeFileSync(`${flag('--output-dir')}/controller-results.yaml`, JSON.stringify({ controllerResults }))
} else process.exitCode = 1
