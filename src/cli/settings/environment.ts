import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { isSecretSetting, LISTED_SETTINGS } from '../../core/settings/read.ts'
import type { SettingSources } from '../../core/settings/show.ts'
import { readSettingsFile } from './file.ts'

type Values = Record<string, string | undefined>

/** Path of the settings file, instead of `<DATA_DIR>/stead.env`. */
export const SETTINGS_FILE = 'STEAD_SETTINGS'
const DEFAULT_DATA_DIR = './data'

/** Settings that `--help` lists as flags; every other setting that is not a secret has one too. */
const SHOWN_FLAGS: readonly string[] = [
  ...['DATA_DIR', 'DEPLOYMENT_MODE', 'HOST', 'WEB_PORT', 'BACKEND_PORT', 'SUMMARIZER_PORT', 'APP_URL', 'LOG_LEVEL'],
]
/** Secrets have no flag: command lines are visible to other users. */
const FLAGS = LISTED_SETTINGS.filter((name) => !isSecretSetting(name))

/** Adds the flags: `--web-port 8080` sets `WEB_PORT`, and `--settings FILE` selects the settings file. */
export function addSettingFlags(command: Command): Command {
  command.option('--settings <file>', 'file with settings, in place of <DATA_DIR>/stead.env')
  for (const name of FLAGS) {
    const flag = new Option(`--${toFlag(name)} <value>`, `the setting ${name}`)
    command.addOption(SHOWN_FLAGS.includes(name) ? flag : flag.hideHelp())
  }
  return command
}

/**
 * Returns the settings: flags override environment variables, which override the settings file. Empty variables count
 * as unset.
 * @throws StartupError as `readSettingsFile`, and when a named file does not exist.
 */
export function readEnvironment(options: Record<string, unknown> = {}): Values {
  return readGivenSettings(options).values
}

/** Like `readEnvironment`, with the source of each setting. @throws as `readEnvironment`. */
export function readGivenSettings(options: Record<string, unknown> = {}): { values: Values; sources: SettingSources } {
  const flags = readFlags(options)
  const given = { ...withoutEmpty(process.env), ...flags }
  const named = flags[SETTINGS_FILE] ?? given[SETTINGS_FILE]
  if (named && !existsSync(named)) throw new StartupError(`${SETTINGS_FILE}: there is no ${named}`)
  const file = named ? resolve(named) : join(resolve(given.DATA_DIR ?? DEFAULT_DATA_DIR), 'stead.env')
  const inFile = readSettingsFile(file)
  if (!named && inFile.DATA_DIR !== undefined && resolve(inFile.DATA_DIR) !== resolve(file, '..')) {
    throw new StartupError(`${file}: DATA_DIR leads away from the folder of this file: name the file by --settings`)
  }
  warnOfReaders(file, inFile)
  const sources = {
    ...namesOf(withoutEmpty(inFile), 'file' as const),
    ...namesOf(given, 'environment' as const),
    ...namesOf(flags, 'flag' as const),
  }
  return { values: { ...inFile, ...given }, sources }
}

function namesOf<Source>(values: Values, source: Source): Record<string, Source> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, source]))
}

function warnOfReaders(file: string, settings: Values): void {
  const holdsSecret = Object.keys(settings).some((name) => isSecretSetting(name) && settings[name])
  if (holdsSecret && (statSync(file).mode & 0o077) !== 0)
    process.stderr.write(`stead: others can read ${file}, which holds secrets (chmod 600 ${file})\n`)
}

function readFlags(options: Record<string, unknown>): Values {
  const flags: Values = {}
  for (const name of FLAGS) {
    const value = options[toOption(name)]
    if (typeof value === 'string') flags[name] = value
  }
  if (typeof options.settings === 'string') flags[SETTINGS_FILE] = options.settings
  return flags
}

function withoutEmpty(environment: Values): Values {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''))
}

/** Converts `WEB_PORT` to the flag `web-port`. */
function toFlag(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

/** Converts `WEB_PORT` to the option `webPort`, as commander names it. */
function toOption(name: string): string {
  return toFlag(name).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
