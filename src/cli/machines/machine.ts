import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { createPlatformClient, type Machine, type PlatformClient } from '../../adapters/platform/client.ts'
import { AppError, type ErrorKind, errorMessage, StartupError } from '../../core/errors.ts'
import { trimTrailing } from '../../core/text/trim.ts'
import { pause } from '../../jobs/runner.ts'
import { UsageError } from '../exit.ts'
import { warnOfMisspelt } from '../misspelt.ts'
import { firstSignal } from '../signals.ts'

const MAX_NAME_LENGTH = 64
const DEFAULT_EVERY_SECONDS = 60

/** Options of both `home` and `link`. */
export type MachineOptions = {
  platform?: string
  key?: string
  keyFile?: string
  name?: string
  every: string
  once: boolean
  json: boolean
}
type MachineEvent =
  | ConnectionEvent
  | { event: 'listening'; url: string }
  | { event: 'failed'; error: string }
  | { event: 'stopped' }
/** A gateway registered with a platform. */
export type Gateway = {
  machine: Omit<Machine, 'name'>
  /** Checks the gateway. @throws AppError while it is not usable. */
  check: (signal: AbortSignal) => Promise<void>
  stop: () => Promise<void>
}

export function addMachineOptions(command: Command): Command {
  return command
    .option('--platform <url>', 'address of the platform’s backend, port 3001 by default (STEAD_PLATFORM)')
    .option('--key <key>', 'your sk_ key; others can read it in a list of processes (STEAD_KEY)')
    .option('--key-file <file>', 'a file with your sk_ key (STEAD_KEY_FILE)')
    .option('--name <name>', 'what this machine is called in the dashboard (STEAD_NAME; default: its host name)')
    .option('--every <seconds>', 'time between heartbeats', String(DEFAULT_EVERY_SECONDS))
    .option('--once', 'register, send one heartbeat and exit', false)
    .option('--json', 'print one JSON document a line', false)
}

/**
 * Opens a gateway and keeps it registered until SIGTERM or SIGINT, then exits 0; exits 1 when the platform or gateway
 * refuses permanently.
 * @throws UsageError naming a missing or invalid option, StartupError naming an unreadable file.
 */
export async function runMachine(
  options: MachineOptions,
  openGateway: (platform: { url: string; key: string }) => Promise<Gateway>,
): Promise<void> {
  const { env } = process
  const platformUrl = options.platform ? readUrl('--platform', options.platform) : readPlatform(env.STEAD_PLATFORM)
  const platform = { url: platformUrl, key: readKey(options) }
  const everyMs = readSeconds('--every', options.every) * 1000
  const name = (options.name ?? env.STEAD_NAME ?? hostname()).trim().slice(0, MAX_NAME_LENGTH)
  const report = createReport(options.json)
  warnOfMisspelt(env)
  const stopping = stopOnSignals()
  let gateway: Gateway | null = null
  try {
    gateway = await openGateway(platform)
    report({ event: 'listening', url: gateway.machine.gatewayUrl })
    const deps = {
      platform: createPlatformClient({ baseUrl: platform.url, key: platform.key, fetch }),
      checkGateway: gateway.check,
      report,
      random: Math.random,
      pause,
    }
    await keepConnected(deps, { ...gateway.machine, name }, { everyMs, once: options.once }, stopping)
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

function readPlatform(text: string | undefined): string {
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
  if (event.event === 'waiting') return `Waiting     ${event.error}; trying again in ${toSeconds(event.retryMs)} s`
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

/** Errors that a retry cannot fix: a wrong key, address or request. */
const FINAL: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'forbidden', 'invalid', 'not_found'])
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
      const dashboardUrl = await platform.register(userId, machine, stopping)
      isRegistered = true
      report({ event: 'connected', userId, name: machine.name, dashboardUrl })
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
