import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Command } from 'commander'
import {
  createMachineClient,
  createPlatformClient,
  type Machine,
  type PlatformClient,
  type RegisteredMachine,
} from '../../adapters/platform/client.ts'
import { keepTunnel, type TunnelEvent } from '../../adapters/tunnel/dial.ts'
import { AppError, type ErrorKind, errorMessage, StartupError } from '../../core/errors.ts'
import { trimTrailing } from '../../core/text/trim.ts'
import { VERSION } from '../../core/version.ts'
import { pause } from '../../jobs/runner.ts'
import { UsageError } from '../exit.ts'
import { warnOfMisspelt } from '../misspelt.ts'
import { firstSignal } from '../signals.ts'
import { findCredentials, type MachineCredentials, pair } from './credentials.ts'
import { type MachineServices, serveStream } from './services.ts'

const MAX_NAME_LENGTH = 64
const DEFAULT_EVERY_SECONDS = 60

/** Options of both `home` and `link`. */
export type MachineOptions = {
  platform?: string
  code?: string
  dir: string
  key?: string
  keyFile?: string
  name?: string
  every: string
  once: boolean
  json: boolean
}
type MachineEvent =
  | ConnectionEvent
  | TunnelEvent
  | { event: 'listening'; url: string }
  | { event: 'failed'; error: string }
  | { event: 'stopped' }
/** A gateway registered with a platform. */
export type Gateway = {
  machine: Omit<Machine, 'name' | 'version'>
  /** Services that the platform reaches through the tunnel besides the gateway. */
  services: Omit<MachineServices, 'gatewayUrl'>
  /** Checks the gateway. @throws AppError while it is not usable. */
  check: (signal: AbortSignal) => Promise<void>
  stop: () => Promise<void>
}

export function addMachineOptions(command: Command): Command {
  return command
    .option('--platform <url>', 'address of the platform’s backend, port 3001 by default (STEAD_PLATFORM)')
    .option('--code <code>', 'a pairing code of the page Machines; used once, then stored credentials are used')
    .option('--key <key>', 'your sk_ key; others can read it in a list of processes (STEAD_KEY)')
    .option('--key-file <file>', 'a file with your sk_ key (STEAD_KEY_FILE)')
    .option('--name <name>', 'what this machine is called in the dashboard (STEAD_NAME; default: its host name)')
    .option('--every <seconds>', 'time between heartbeats', String(DEFAULT_EVERY_SECONDS))
    .option('--once', 'register, send one heartbeat and exit', false)
    .option('--json', 'print one JSON document a line', false)
}

/** `checkOptions` finds mistakes before the code is used up. @throws UsageError, StartupError */
type MachineKind = Pick<Machine, 'mode' | 'agentKind'> & { checkOptions: () => Promise<unknown> }

/** How this machine authenticates: as a paired machine, or with an `sk_` key of its owner. */
export type MachineAccess = { url: string; token: string; paired: MachineCredentials | null }

/**
 * Opens a gateway and keeps it registered and connected until SIGTERM or SIGINT, then exits 0; exits 1 when the
 * platform or gateway refuses permanently.
 * @throws UsageError naming a missing or invalid option, StartupError naming an unreadable file.
 */
export async function runMachine(
  options: MachineOptions,
  kind: MachineKind,
  openGateway: (access: MachineAccess) => Promise<Gateway>,
): Promise<void> {
  const { env } = process
  const everyMs = readSeconds('--every', options.every) * 1000
  const wantedName = (options.name ?? env.STEAD_NAME ?? hostname()).trim().slice(0, MAX_NAME_LENGTH)
  const report = createReport(options.json)
  const stopping = stopOnSignals()
  let gateway: Gateway | null = null
  try {
    const access = await openAccess(options, { ...kind, name: wantedName }, stopping)
    warnOfMisspelt(env)
    gateway = await openGateway(access)
    report({ event: 'listening', url: gateway.machine.gatewayUrl })
    const machine = { ...gateway.machine, name: access.paired?.name ?? wantedName, version: VERSION }
    await stayConnected({ access, gateway, machine, report }, { everyMs, once: options.once }, stopping)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    report({ event: 'failed', error: error.message })
    process.stderr.write(`stead: ${error.message}\n`)
    process.exitCode = 1
  } finally {
    await gateway?.stop()
  }
  report({ event: 'stopped' })
  process.exit()
}

/** Reads or obtains the machine's credentials. A key that is given counts more than an earlier pairing. */
async function openAccess(
  options: MachineOptions,
  { mode, agentKind, checkOptions, name }: MachineKind & { name: string },
  signal: AbortSignal,
): Promise<MachineAccess> {
  const folder = resolve(options.dir)
  if (options.code) {
    const url = readPlatform(options)
    await checkOptions()
    const machine = { mode, agentKind, name, version: VERSION }
    const paired = await pair(folder, url, options.code, machine, signal)
    return { url, token: paired.token, paired }
  }
  const isKeyGiven = [options.key, options.keyFile, process.env.STEAD_KEY, process.env.STEAD_KEY_FILE].some(Boolean)
  const paired = isKeyGiven ? null : findCredentials(folder)
  if (paired) return { url: paired.platform, token: paired.token, paired }
  return { url: readPlatform(options), token: readKey(options), paired: null }
}

type Connecting = { access: MachineAccess; gateway: Gateway; machine: Machine; report: (event: MachineEvent) => void }

/** Keeps the registration, and after it the tunnel. @throws AppError that a retry cannot fix. */
async function stayConnected(
  { access, gateway, machine, report }: Connecting,
  options: ConnectionOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { url, token, paired } = access
  const platform = paired
    ? createMachineClient({ baseUrl: url, fetch, ...paired })
    : createPlatformClient({ baseUrl: url, key: token, fetch })
  const failing = new AbortController()
  const ending = AbortSignal.any([stopping, failing.signal])
  const services = { ...gateway.services, gatewayUrl: machine.gatewayUrl }
  let tunnel: Promise<void> | null = null
  const openTunnel = ({ installationId }: RegisteredMachine, userId: string) => {
    if (installationId === null || options.once || tunnel) return
    const target = { url: toTunnelUrl(url, installationId), token, version: VERSION }
    const deps = {
      accept: (name: string, stream: Duplex) => serveStream(services, name, stream),
      report,
      // The answer of the registration says why.
      afterRefusal: async () => void (await platform.register(userId, machine, ending).catch(throwFinal)),
      random: Math.random,
      pause,
    }
    tunnel = keepTunnel(deps, target, ending).finally(() => failing.abort())
    tunnel.catch(() => undefined)
  }
  const deps = { platform, checkGateway: gateway.check, report, random: Math.random, pause, onRegistered: openTunnel }
  try {
    await keepConnected(deps, machine, options, ending)
  } finally {
    failing.abort()
  }
  await tunnel
}

function throwFinal(error: unknown): void {
  if (!(error instanceof AppError) || FINAL.has(error.kind)) throw error
}

function toTunnelUrl(platformUrl: string, installationId: string): string {
  return `${platformUrl.replace(/^http/, 'ws')}/api/installations/${encodeURIComponent(installationId)}/tunnel`
}

/** Reads a secret from its option, its file, its variable, or the file that a variable names. */
export function readSecret(option: string | undefined, file: string | undefined, variable: string): string | undefined {
  const path = file ?? (option ? undefined : process.env[`${variable}_FILE`])
  if (!path) return option ?? (process.env[variable] || undefined)
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${path}: cannot be read (${errorMessage(error)})`, { cause: error })
  }
}

function readPlatform({ platform }: MachineOptions): string {
  if (platform) return readUrl('--platform', platform)
  const text = process.env.STEAD_PLATFORM
  if (!text) throw new UsageError('--platform: is required (or STEAD_PLATFORM)')
  return readUrl('STEAD_PLATFORM', text)
}

/** Parses an HTTP address; `name` is its option or variable. @throws UsageError */
export function readUrl(name: string, text: string): string {
  const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  if (!isHttp) throw new UsageError(`${name}: must be an http or https URL`)
  return trimTrailing(text, '/')
}

function readKey({ key, keyFile }: MachineOptions): string {
  const found = readSecret(key, keyFile, 'STEAD_KEY')
  if (!found) throw new UsageError('--key-file: is required (or STEAD_KEY, STEAD_KEY_FILE, --key)')
  if (!found.startsWith('sk_')) throw new UsageError('--key-file: a key begins with sk_')
  return found
}

function readSeconds(option: string, text: string): number {
  const seconds = Number(text)
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= 600) return seconds
  throw new UsageError(`${option}: must be a number of seconds up to 600`)
}

function createReport(isJson: boolean): (event: MachineEvent) => void {
  return (event) => {
    const line = isJson ? JSON.stringify(event) : toText(event)
    if (line !== null) process.stdout.write(`${line}\n`)
  }
}

/** Formats an event; null for routine events and for those logged on standard error. */
function toText(event: MachineEvent): string | null {
  if (event.event === 'listening') return `Gateway     ${event.url}`
  if (event.event === 'connected') return `Registered  ${event.name}, see ${event.dashboardUrl}`
  if (event.event === 'tunnel') return `Connected   platform ${event.version}${event.isResumed ? ', resumed' : ''}`
  if (event.event === 'waiting' || event.event === 'reconnecting') {
    return `Waiting     ${event.error}; trying again in ${toSeconds(event.retryMs)} s`
  }
  return event.event === 'stopped' ? 'Stopped' : null
}

function toSeconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0)
}

function stopOnSignals(): AbortSignal {
  const stopping = new AbortController()
  void firstSignal().then(() => stopping.abort())
  return stopping.signal
}

/** Errors that a retry cannot fix: a wrong key, address, version or request. */
const FINAL: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'forbidden', 'invalid', 'not_found', 'conflict'])
const FIRST_RETRY_MS = 1000

/** Events, printed as `--json` lines or text. */
export type ConnectionEvent =
  | { event: 'connected'; userId: string; name: string; dashboardUrl: string }
  | { event: 'heartbeat'; timestamp: string }
  | { event: 'waiting'; error: string; retryMs: number }

export type ConnectionOptions = { everyMs: number; once: boolean }

/**
 * Registers `machine` and sends heartbeats while its gateway is healthy, until `stopping` aborts; retries with growing
 * intervals of at most `everyMs`. `once` runs one cycle.
 * @throws AppError that a retry cannot fix, and with `once` every error.
 */
export async function keepConnected(
  deps: {
    platform: PlatformClient
    /** Checks the gateway. @throws AppError while it is not usable. */
    checkGateway: (signal: AbortSignal) => Promise<void>
    report: (event: ConnectionEvent) => void
    /** Jitter from 0 to 1, so that machines do not reconnect at the same moment. */
    random: () => number
    /** Resolves after `ms`, or at once when `signal` aborts. */
    pause: (ms: number, signal: AbortSignal) => Promise<void>
    /** Called after each registration. */
    onRegistered?: (registered: RegisteredMachine, userId: string) => void
  },
  machine: Machine,
  { everyMs, once }: ConnectionOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { platform, report } = deps
  let userId: string | null = null
  let isRegistered = false
  let failures = 0

  const beat = async () => {
    userId ??= await platform.findUserId(stopping)
    await deps.checkGateway(stopping)
    if (!isRegistered) {
      const registered = await platform.register(userId, machine, stopping)
      isRegistered = true
      report({ event: 'connected', userId, name: machine.name, dashboardUrl: registered.dashboardUrl })
      deps.onRegistered?.(registered, userId)
    }
    report({ event: 'heartbeat', timestamp: await platform.sendHeartbeat(userId, machine.name, stopping) })
  }

  while (!stopping.aborted) {
    let waitMs = everyMs * (0.9 + deps.random() * 0.2)
    try {
      await beat()
      failures = 0
      if (once) return
    } catch (error) {
      if (stopping.aborted) return
      if (once || !(error instanceof AppError) || FINAL.has(error.kind)) throw error
      isRegistered = false
      waitMs = Math.min(everyMs, FIRST_RETRY_MS * 2 ** failures++) * (0.5 + deps.random() / 2)
      report({ event: 'waiting', error: errorMessage(error), retryMs: Math.round(waitMs) })
    }
    await deps.pause(waitMs, stopping)
  }
}
