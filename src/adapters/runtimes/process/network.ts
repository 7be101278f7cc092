import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createRelays, passOn } from '../contract/relay.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import type { AgentFolder } from './files.ts'
import { listPlatformUrls } from './sandbox/network.ts'

/** Connections between the platform and agents that have no network but Unix sockets. */
export type AgentNetwork = {
  /**
   * Lets an agent reach the platform, and passes connections to its port on 127.0.0.1 on to it.
   * @throws AppError `conflict` {code: 'PORT_TAKEN'}.
   */
  open(folder: AgentFolder, spec: Pick<AgentSpec, 'port' | 'environment'>): Promise<void>
  close(id: string): void
  closeAll(): void
}

/** `folderOf` returns the folder of an agent; `sockets` is the folder that agents see, null for none. */
export function createAgentNetwork(folderOf: (id: string) => AgentFolder, sockets: string | null): AgentNetwork {
  const relays = createRelays(async (id) => connectToAgent(folderOf(id)))
  const servers = new Map<number, Promise<Server>>()
  return {
    async open(folder, { port, environment }) {
      for (const url of sockets === null ? [] : listPlatformUrls(environment)) {
        const platformPort = Number(url.port)
        const server = servers.get(platformPort) ?? servePlatform(join(sockets ?? '', `${platformPort}.sock`), url)
        servers.set(platformPort, server)
        await server
      }
      await relays.open(folder.id, port)
    },
    close: relays.close,
    closeAll() {
      relays.closeAll()
      for (const server of servers.values()) void server.then((opened) => opened.close())
      servers.clear()
    },
  }
}

async function servePlatform(path: string, { hostname, port }: URL): Promise<Server> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o755 })
  await rm(path, { force: true })
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    void passOn(client, () => dial({ host: hostname, port: Number(port) }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path }, resolve)
  })
  // Agents may have users of their own; the folder above the sockets keeps everyone else out.
  await chmod(path, 0o666)
  return server
}

/** Opens a file to name it, without access to its content. */
const O_PATH = 0o10000000

/**
 * Connects to the socket of an agent; null for another file. The agent can replace that file: a link would lead to sockets of
 * the host, so the file is opened without following links, and the connection goes to the opened file.
 */
async function connectToAgent({ sockets }: AgentFolder): Promise<Socket | null> {
  const file = openSync(join(sockets, 'agent.sock'), O_PATH | constants.O_NOFOLLOW)
  try {
    return fstatSync(file).isSocket() ? await dial({ path: `/proc/self/fd/${file}` }) : null
  } finally {
    closeSync(file)
  }
}

/** @throws the system's error. */
function dial(place: { host: string; port: number } | { path: string }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
