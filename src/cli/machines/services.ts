import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { FolderRoot } from '../../adapters/files/open.ts'
import { createGitRunner } from '../../adapters/git/runner.ts'
import { toByteLink } from '../../adapters/tunnel/byte-link.ts'
import { readLines } from '../../adapters/tunnel/lines.ts'
import { join } from '../../adapters/tunnel/pipe.ts'
import { LogRequest, TARGETS } from '../../adapters/tunnel/services.ts'
import { serveWorkspace } from '../../adapters/workspaces/server.ts'
import type { MachineLog } from './log.ts'

/** Services of this machine for the platform: the gateway, and its log and files where they are known here. */
export type MachineServices = { gatewayUrl: string; log: MachineLog | null; files: FolderRoot | null }

/** Serves a stream of the tunnel. Streams for anything else than the named services are closed. */
export function serveStream(services: MachineServices, target: string, stream: Duplex): void {
  const { gatewayUrl, log, files } = services
  const end = () => void stream.destroy()
  if (target === TARGETS.gateway) serveGateway(gatewayUrl, stream)
  else if (target === TARGETS.logs && log) serveLog(log, stream).catch(end)
  else if (target === TARGETS.files && files) serveFiles(files, stream).catch(end)
  else end()
}

/** Connects only to the gateway: the platform reaches nothing else in this machine's network. */
function serveGateway(gatewayUrl: string, stream: Duplex): void {
  const { protocol, hostname, port } = new URL(gatewayUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const address = { host, port: Number(port) || (isTls ? 443 : 80), allowHalfOpen: true }
  const socket = isTls ? connectTls({ ...address, servername: host }) : connect(address)
  socket.setNoDelay(true)
  join(stream, socket)
}

async function serveFiles(root: FolderRoot, stream: Duplex): Promise<void> {
  await serveWorkspace(toByteLink(stream), root, createGitRunner())
  stream.destroy()
}

async function serveLog(log: MachineLog, stream: Duplex): Promise<void> {
  const { value } = await readLines(stream).next()
  const request = LogRequest.parse(JSON.parse(value ?? 'null'))
  const leaving = new AbortController()
  stream.on('close', () => leaving.abort())
  for await (const line of log.follow(request, leaving.signal)) {
    if (!stream.write(`${JSON.stringify(line)}\n`)) await drain(stream, leaving.signal)
  }
  stream.end()
}

async function drain(stream: Duplex, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => resolve()
  stream.once('drain', wake)
  signal.addEventListener('abort', wake, { once: true })
  await promise
  stream.off('drain', wake)
  signal.removeEventListener('abort', wake)
}
