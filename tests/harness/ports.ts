import { createServer, type Server } from 'node:net'
import { until } from './until.ts'

/** Each test process reserves a port slot by listening on its first port until it ends. All ports are below the kernel's ephemeral range. */
const SLOTS = 40
const FIRST_SLOT_PORT = 9000
/** Port ranges of a slot: services and agents. */
const SERVICES = { first: 10_000, count: 200 }
const AGENTS = { first: 20_000, count: 300 }
/** Ports reserved for the agents of one installation. */
const AGENTS_PER_INSTALLATION = 30

let slot: Promise<number> | undefined
let services = 0
let installationCount = 0

/** Reserves a number from 0 to 39 that is unique among the test processes of this machine until this process ends. */
export function takeSlot(): Promise<number> {
  slot ??= until('a free slot', findSlot).then((port) => port - FIRST_SLOT_PORT)
  return slot
}

async function findSlot(): Promise<number | null> {
  for (let index = 0; index < SLOTS; index += 1) {
    const port = FIRST_SLOT_PORT + ((process.pid + index) % SLOTS)
    const server = await listenAt(port)
    if (server === null) continue
    server.unref()
    return port
  }
  return null
}

/** Returns free ports that no other test uses, so a restarted service can bind them again. */
export async function findFreePorts(count: number): Promise<number[]> {
  const first = SERVICES.first + (await takeSlot()) * SERVICES.count
  const found: number[] = []
  while (found.length < count) {
    const port = first + (services % SERVICES.count)
    services += 1
    const server = await listenAt(port)
    if (server === null) continue
    await new Promise((resolve) => server.close(resolve))
    found.push(port)
  }
  return found
}

/** Returns the first agent port for another installation. */
export async function findAgentPorts(): Promise<number> {
  const offset = (installationCount * AGENTS_PER_INSTALLATION) % AGENTS.count
  installationCount += 1
  return AGENTS.first + (await takeSlot()) * AGENTS.count + offset
}

/** Returns null when the port is in use. */
function listenAt(port: number): Promise<Server | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
