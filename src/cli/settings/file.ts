import { existsSync, readFileSync } from 'node:fs'
import { errorMessage, StartupError } from '../../core/errors.ts'
import { isSettingName, SETTING_NAMES } from '../../core/settings/read.ts'
import { findNearName } from '../../core/text/names.ts'

const LINE = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/
/** Matches a quoted or unquoted value with an optional comment. */
const VALUE = /^(?:(?:'([^']*)'|"([^"]*)")\s*|([^'"#\s](?:[^#]|(?<!\s)#)*)?)(?:#.*)?$/s

/**
 * Reads a settings file with lines `NAME=value`; empty when it does not exist. Values are literal, as in systemd and
 * Compose files.
 * @throws StartupError naming file and line of a syntax error, an unknown setting (with the closest known one) or a
 * duplicate.
 */
export function readSettingsFile(file: string): Record<string, string> {
  const settings: Record<string, string> = {}
  for (const [index, line] of readText(file).split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const problem = addLine(settings, line)
    if (problem !== null) throw new StartupError(`${file}:${index + 1}: ${problem}`)
  }
  return settings
}

function readText(file: string): string {
  if (!existsSync(file)) return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${file}: cannot be read (${errorMessage(error)})`, { cause: error })
  }
}

/** Parses one line. @returns the problem without the value, which may be a secret. */
function addLine(settings: Record<string, string>, line: string): string | null {
  const [, name, written = ''] = line.trim().match(LINE) ?? []
  if (name === undefined) return 'is neither NAME=value nor a comment'
  if (!isSettingName(name)) return describeUnknown(name)
  if (name in settings) return `${name} stands there twice`
  const value = written.trim().match(VALUE)
  if (!value) return `${name}: the value is not whole: what holds quotes or begins with # stands in quotes`
  const [, single, double, plain] = value
  settings[name] = single ?? double ?? plain?.trim() ?? ''
  return null
}

function describeUnknown(name: string): string {
  const near = findNearName(name.toUpperCase(), SETTING_NAMES)
  return near ? `${name} is no setting: is ${near} meant?` : `${name} is no setting (stead config schema lists them)`
}
