import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AppError, errorMessage } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import type { ServerSocket, SocketHandler } from '../../core/web-socket.ts'
import { takeBeat } from './dial.ts'
import { HEARTBEAT, type Heartbeat, type HeartbeatTimes, startHeartbeat } from './heartbeat.ts'
import { CLOSE, MachineHello, type PlatformHello, parseHello, STOPPED, TUNNEL_PROTOCOL } from './hello.ts'
import { join, type LocalPort, listenLocally } from './pipe.ts'
import { TARGETS } from './services.ts'
import { type Carrier, TunnelSession } from './session.ts'

const HELLO_MS = 10_000

export type LinkTimes = {
  heartbeat: HeartbeatTimes
  /** How long a machine without a connection still counts as online. */
  graceMs: number
  /** How long streams wait for a machine that reconnects. */
  resumeMs: number
}
const LINK_TIMES: LinkTimes = { heartbeat: HEARTBEAT, graceMs: 3000, resumeMs: 30_000 }

/** `port` is the gateway's on 127.0.0.1; null while the machine is offline. */
type LinkState = { port: number | null; latencyMs: number | null }

type MachineAccess = {
  /** Returns why a version is refused, or null. */
  checkVersion: (version: string) => string | null
  /** Returns whether the credential of the connection is still valid. */
  isAuthorized: () => boolean
}

/** The tunnels of machines that are connected to this process. */
export type MachineLinks = {
  /** Handles the WebSocket of an authenticated machine. A newer connection replaces an older one. */
  handlerFor(machineId: string, access: MachineAccess): SocketHandler
  stateOf(machineId: string): LinkState
  /** Opens a stream to a service of the machine. @throws AppError `unavailable` MACHINE_OFFLINE. */
  openStream(machineId: string, target: string): Duplex
  /** Ends the tunnels whose credential is no longer valid. */
  endUnauthorized(): void
  /** Ends the tunnel of a removed machine. */
  remove(machineId: string): void
  close(): void
}

type LinksDeps = {
  log: Log
  version: string
  /** Called after a machine went online or offline. */
  onChange: (machineId: string) => void
  times?: LinkTimes
}

/** Creates the registry of tunnels. */
export function createMachineLinks(deps: LinksDeps): MachineLinks {
  const links = new Map<string, MachineLink>()
  let isClosed = false
  const linkOf = (machineId: string): MachineLink => {
    const known = links.get(machineId)
    if (known) return known
    const forget = () => links.delete(machineId)
    const link = new MachineLink(machineId, { times: LINK_TIMES, ...deps }, forget)
    links.set(machineId, link)
    return link
  }
  return {
    handlerFor: (machineId, access) => createHandler(() => (isClosed ? null : linkOf(machineId)), access),
    stateOf: (machineId) => links.get(machineId)?.state() ?? { port: null, latencyMs: null },
    openStream(machineId, target) {
      const link = links.get(machineId)
      if (!link) throw machineOffline()
      return link.openStream(target)
    },
    endUnauthorized() {
      for (const link of [...links.values()]) {
        if (!link.isAuthorized()) link.end(CLOSE.removed, 'The credentials of this machine were revoked')
      }
    },
    remove: (machineId) => links.get(machineId)?.end(CLOSE.removed, 'This machine was removed from the platform'),
    close() {
      isClosed = true
      for (const link of [...links.values()]) link.end(1001, 'The service is stopping')
    },
  }
}

export function machineOffline(cause?: unknown): AppError {
  return new AppError('unavailable', 'The machine is offline', { code: 'MACHINE_OFFLINE' }, { cause })
}

/** Waits for the machine's first message and gives the connection to its link. */
function createHandler(
  findLink: () => MachineLink | null,
  { checkVersion, isAuthorized }: MachineAccess,
): SocketHandler {
  let taken: { link: MachineLink; carrier: Carrier } | null = null
  let timer: Timer | undefined
  const accept = (socket: ServerSocket, message: string | Buffer) => {
    clearTimeout(timer)
    const hello = parseHello(MachineHello, message)
    if (!hello) return socket.close(CLOSE.invalid, 'The first message is not understood')
    const refusal = checkVersion(hello.version) ?? describeProtocol(hello.protocol)
    if (refusal !== null) return socket.close(CLOSE.version, refusal.slice(0, 120))
    const link = findLink()
    if (!link) return socket.close(1001, 'The service is stopping')
    const carrier: Carrier = { send: (bytes) => void socket.send(bytes), close: () => socket.terminate() }
    taken = { link, carrier }
    link.take({ socket, carrier, isAuthorized }, hello)
  }
  return {
    open(socket) {
      timer = setTimeout(() => socket.close(CLOSE.invalid, 'The first message did not arrive'), HELLO_MS)
    },
    message(socket, message) {
      if (!taken) accept(socket, message)
      else if (typeof message !== 'string') taken.link.receive(taken.carrier, message)
      else socket.close(CLOSE.invalid, 'Messages are binary')
    },
    close(_socket, code) {
      clearTimeout(timer)
      taken?.link.lose(taken.carrier, code)
    },
  }
}

/** Returns why the protocol of a machine is refused, and the command that helps; null when it is accepted. */
function describeProtocol(protocol: number): string | null {
  if (protocol === TUNNEL_PROTOCOL) return null
  const older = protocol < TUNNEL_PROTOCOL ? 'machine' : 'server'
  return `The tunnel protocols differ: run stead upgrade --from FILE on the ${older}.`
}

type Incoming = { socket: ServerSocket; carrier: Carrier; isAuthorized: () => boolean }
type Connected = { socket: ServerSocket; carrier: Carrier; heartbeat: Heartbeat }
type Begun = { id: string; session: TunnelSession }

/** The tunnel of one machine, with the local port that leads to its gateway. */
class MachineLink {
  readonly #machineId: string
  readonly #deps: LinksDeps & { times: LinkTimes }
  readonly #forget: () => void
  #begun: Begun | null = null
  #connected: Connected | null = null
  #isAuthorized: () => boolean = () => true
  #opening: Promise<LocalPort> | null = null
  #local: LocalPort | null = null
  #isOnline = false
  #offlineTimer: Timer | undefined
  #endTimer: Timer | undefined

  constructor(machineId: string, deps: LinksDeps & { times: LinkTimes }, forget: () => void) {
    this.#machineId = machineId
    this.#deps = deps
    this.#forget = forget
  }

  state(): LinkState {
    return {
      port: this.#isOnline ? (this.#local?.port ?? null) : null,
      latencyMs: this.#isOnline ? (this.#connected?.heartbeat.latencyMs() ?? null) : null,
    }
  }

  /** Takes a new connection, which resumes the session that it names. */
  take({ socket, carrier, isAuthorized }: Incoming, hello: MachineHello): void {
    this.#replaceConnection(hello)
    this.#isAuthorized = isAuthorized
    const known = this.#begun
    const isResumed = known !== null && known.id === hello.session && known.session.canResumeAt(hello.received)
    if (!isResumed) known?.session.end(new Error('The machine has begun a new session'))
    const begun = isResumed ? known : { id: newId('tun'), session: this.#createSession() }
    this.#begun = begun
    const answer: PlatformHello = {
      protocol: TUNNEL_PROTOCOL,
      version: this.#deps.version,
      session: begun.id,
      isResumed,
      received: begun.session.received,
    }
    socket.send(JSON.stringify(answer))
    const heartbeat = startHeartbeat({ send: carrier.send, onDead: carrier.close }, this.#deps.times.heartbeat)
    this.#connected = { socket, carrier, heartbeat }
    begun.session.attach(carrier, isResumed ? hello.received : 0)
    clearTimeout(this.#offlineTimer)
    clearTimeout(this.#endTimer)
    void this.#goOnline()
  }

  isAuthorized(): boolean {
    return this.#isAuthorized()
  }

  receive(carrier: Carrier, message: Buffer): void {
    if (this.#connected?.carrier !== carrier) return
    if (!takeBeat(this.#connected.heartbeat, message, carrier)) this.#begun?.session.receive(carrier, message)
  }

  /** Notes a lost connection. A machine that stopped on purpose does not resume. */
  lose(carrier: Carrier, code: number): void {
    if (this.#connected?.carrier !== carrier) return
    this.#connected.heartbeat.stop()
    this.#connected = null
    this.#begun?.session.detach(carrier)
    if (code === STOPPED) {
      this.#endSession(machineOffline())
      return
    }
    const { graceMs, resumeMs } = this.#deps.times
    this.#offlineTimer = setTimeout(() => this.#goOffline(), graceMs)
    this.#endTimer = setTimeout(() => this.#endSession(machineOffline()), Math.max(graceMs, resumeMs))
  }

  openStream(target: string): Duplex {
    if (!this.#begun || !this.#isOnline) throw machineOffline()
    const { session } = this.#begun
    if (session.isFull) throw new AppError('unavailable', 'Too many connections to this machine are open')
    return session.openStream(target)
  }

  end(code: number, reason: string): void {
    this.#connected?.socket.close(code, reason)
    this.#connected?.heartbeat.stop()
    this.#connected = null
    this.#endSession(new AppError('unavailable', reason))
  }

  /** A second process with the same credentials names another session than a reconnect. */
  #replaceConnection({ session }: MachineHello): void {
    const old = this.#connected
    if (!old) return
    old.heartbeat.stop()
    this.#connected = null
    this.#begun?.session.detach(old.carrier)
    if (this.#begun?.id === session) {
      old.socket.terminate()
      return
    }
    this.#deps.log.warn({ machineId: this.#machineId }, 'another process connected with the credentials of a machine')
    old.socket.close(CLOSE.replaced, 'Another process connected with these credentials')
  }

  #createSession(): TunnelSession {
    const onEnd = (error: Error) =>
      this.#deps.log.debug({ machineId: this.#machineId, error: errorMessage(error) }, 'a tunnel ended')
    return new TunnelSession({ role: 'platform', onEnd })
  }

  async #goOnline(): Promise<void> {
    this.#opening ??= listenLocally((socket) => this.#serve(socket))
    const opening = this.#opening
    try {
      const local = await opening
      // The session ended in the meantime, and closes the port.
      if (this.#opening !== opening) return
      this.#local = local
    } catch (error) {
      this.#deps.log.error({ machineId: this.#machineId, error: errorMessage(error) }, 'no port for a machine')
      return this.end(1011, 'The platform has no port for this machine')
    }
    if (this.#isOnline || !this.#connected) return
    this.#isOnline = true
    this.#deps.onChange(this.#machineId)
  }

  #goOffline(): void {
    this.#begun?.session.cutUnheard()
    if (!this.#isOnline) return
    this.#isOnline = false
    this.#deps.onChange(this.#machineId)
  }

  #endSession(error: Error): void {
    clearTimeout(this.#offlineTimer)
    clearTimeout(this.#endTimer)
    this.#begun?.session.end(error)
    this.#begun = null
    this.#goOffline()
    // Also closes a port that is still being opened.
    this.#opening?.then(({ close }) => close()).catch(() => undefined)
    this.#opening = null
    this.#local = null
    this.#forget()
  }

  #toAnswer(): string {
    return toUnavailable(this.#connected ? 'The agent on the machine does not answer' : 'The machine is offline')
  }

  #serve(socket: Socket): void {
    try {
      const stream = this.openStream(TARGETS.gateway)
      join(
        socket,
        stream,
        createCut(socket, stream, () => this.#toAnswer()),
      )
    } catch {
      socket.end(this.#toAnswer())
    }
  }
}

/** Returns the response to an HTTP client whose request cannot reach the machine. */
function toUnavailable(message: string): string {
  const body = JSON.stringify({ error: { message, code: 'MACHINE_OFFLINE' } })
  const headers = ['content-type: application/json', `content-length: ${body.length}`, 'connection: close']
  return ['HTTP/1.1 503 Service Unavailable', ...headers, '', body].join('\r\n')
}

/**
 * Returns what happens when `stream` breaks: 503 before the first byte of a response, otherwise the connection is
 * closed.
 */
function createCut(socket: Socket, stream: Duplex, toAnswer: () => string): () => void {
  let isWaiting = true
  let isAnswered = false
  socket.on('data', () => {
    isWaiting = true
  })
  stream.on('data', () => {
    isWaiting = false
  })
  return () => {
    if (isAnswered) return
    isAnswered = isWaiting && socket.writable
    if (isAnswered) socket.end(toAnswer())
    else socket.destroy()
  }
}
