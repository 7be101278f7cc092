import { writeFileSync } from 'node:fs'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { addMachine, type Hub } from './network.ts'

const WEB_PORT = 3000
const BACKEND_PORT = 3001

/** haproxy on its own machine, in front of the web and backend ports of nodes. */
export type Balancer = AsyncDisposable & { web: string; backend: string }

/** Starts haproxy for nodes that listen on ports 3000 and 3001 of their addresses. */
export async function startBalancer(hub: Hub, index: number, nodes: readonly string[]): Promise<Balancer> {
  const folder = tempFolder()
  const machine = addMachine(hub, index)
  const file = folder.file('haproxy.cfg')
  writeFileSync(file, toSettings(nodes))
  const child = Bun.spawn([...machine.enter, 'haproxy', '-db', '-f', file], {
    stdio: ['ignore', 'ignore', Bun.file(folder.file('errors'))],
  })
  const balancer = {
    web: `http://${machine.address}:${WEB_PORT}`,
    backend: `http://${machine.address}:${BACKEND_PORT}`,
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
      machine.remove()
      folder[Symbol.dispose]()
    },
  }
  await until('haproxy', async () => {
    if (child.exitCode !== null) throw new Error(await Bun.file(folder.file('errors')).text())
    return fetch(balancer.web).then(Boolean, () => false)
  })
  return balancer
}

/** Returns the configuration, which retries a request on another node only if the first one did not accept it. */
function toSettings(nodes: readonly string[]): string {
  const toProxy = (name: string, port: number) => `
frontend ${name}
  bind :${port}
  default_backend ${name}_nodes
backend ${name}_nodes
  option forwardfor
  option httpchk GET /readyz
  retry-on conn-failure
${nodes.map((address, index) => `  server node${index + 1} ${address}:${port} check port ${BACKEND_PORT}`).join('\n')}
`
  return `
global
  maxconn 2000
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  retries 2
  option redispatch 1
  default-server inter 500ms fall 2 rise 1
${toProxy('web', WEB_PORT)}${toProxy('backend', BACKEND_PORT)}`
}
