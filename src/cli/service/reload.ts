import { type Config, readConfig } from '../../core/config.ts'
import { errorMessage } from '../../core/errors.ts'
import type { LogOutput } from '../../core/log/output.ts'
import type { Log } from '../../core/log.ts'
import { RELOADED_SETTINGS } from '../../core/settings/environment.ts'
import { LISTED_SETTINGS, readSettings } from '../../core/settings/read.ts'
import { listShownSettings, type SettingSources, type ShownSetting } from '../../core/settings/show.ts'
import type { Notify } from './notify.ts'
import { listOwnProblems } from './write-paths.ts'

type Values = Record<string, string | undefined>
type Running = {
  log: Log
  output: LogOutput
  notify: Notify
  /** Applies the new settings and their displayed values. */
  apply: (config: Config, shown: readonly ShownSetting[]) => void
  /** Settings at the start. */
  environment: Values
  /** Reads the settings again. @throws StartupError */
  read: () => { values: Values; sources: SettingSources }
}

/** Signals before the server is ready are ignored. */
export function ignoreHangup(): void {
  if (!process.stdin.isTTY) process.on('SIGHUP', () => undefined)
}

/**
 * Handles SIGHUP: reopens the log and reloads the settings. Settings that need a restart are named in the log. On a
 * terminal SIGHUP means hang-up and ends the program.
 */
export function reloadOnHangup({ environment, ...running }: Running): void {
  if (process.stdin.isTTY) return
  let present = toTexts(environment)
  process.on('SIGHUP', () => {
    running.notify(`RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`)
    present = reload(running, present)
    running.notify('READY=1')
  })
}

/** Reloads the settings. @returns those now in effect. */
function reload({ log, output, read, apply }: Omit<Running, 'environment' | 'notify'>, present: Values): Values {
  try {
    // Reopen first: log rotation waits for it, whether or not the settings are valid.
    output.reopen(present.LOG_FILE)
    const { values: environment, sources } = read()
    const config = readConfig(environment)
    const next = toTexts(environment)
    if (next.LOG_FILE !== present.LOG_FILE) output.reopen(config.logFile)
    log.level = config.logLevel
    const changed = LISTED_SETTINGS.filter((name) => next[name] !== present[name])
    const counts = (name: string) => RELOADED_SETTINGS.some((reloaded) => reloaded === name)
    apply(
      config,
      listShownSettings(environment, sources).filter(({ name }) => counts(name)),
    )
    log.info({ changed: changed.filter(counts) }, 'settings were read again')
    const waiting = changed.filter((name) => !counts(name))
    if (waiting.length > 0) log.warn({ settings: waiting }, 'these settings count from the next start on')
    for (const problem of listOwnProblems(config, process.env.INVOCATION_ID !== undefined)) log.warn(problem)
    return { ...present, ...Object.fromEntries(changed.filter(counts).map((name) => [name, next[name]])) }
  } catch (error) {
    log.error({ error: errorMessage(error) }, 'the settings were not read again: the former ones go on')
    return present
  }
}

/** Returns each effective setting as text, for comparison. */
function toTexts(environment: Values): Values {
  return Object.fromEntries(Object.entries(readSettings(environment)).map(([name, value]) => [name, toText(value)]))
}

function toText(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
}
