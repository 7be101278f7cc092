import { createServer, type Server } from 'node:net'
import { until } from './until.ts'

/**
 * Every process of tests has a slot of its own on this machine: it listens at the slot's door until it ends, however it
 * ends. All ports are below those that the kernel gives to whoever asks for any.
 */
const SLOTS = 40
const FIRST_DOOR = 9000
/** What a slot's services listen at, and what its agents do. */
const SERVICES = { first: 10_000, count: 200 }
const AGENTS = { first: 20_000, count: 300 }
/** So many ports from one house's agents to the next one's. */
const AGENTS_OF_A_HOUSE = 30

let slot: Promise<number> | undefined
let services = 0
let houses = 0

/** A number from 0 to 39 that no other process of tests on this machine has as long as this one lives. */
export function takeSlot(): Promise<number> {
  slot ??= until('a free slot', findSlot).then((door) => door - FIRST_DOOR)
  return slot
}

async function findSlot(): Promise<number | null> {
  for (let index = 0; index < SLOTS; index += 1) {
    const door = FIRST_DOOR + ((process.pid + index) % SLOTS)
    const server = await listenAt(door)
    if (server === null) continue
    server.unref()
    return door
  }
  return null
}

/** Ports that nobody listens at and that no other test takes: a service that is started again finds them as it left them. */
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

/** Where the ports of another house's agents begin. */
export async function findAgentPorts(): Promise<number> {
  const offset = (houses * AGENTS_OF_A_HOUSE) % AGENTS.count
  houses += 1
  return AGENTS.first + (await takeSlot()) * AGENTS.count + offset
}

/** Null when somebody listens there. */
function listenAt(port: number): Promise<Server | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
