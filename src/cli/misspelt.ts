import { isSettingName, SETTING_NAMES } from '../core/settings/read.ts'
import { findNearName } from '../core/text/names.ts'

/** Variables of the agent and of machine commands, in addition to the server's settings. */
const OTHER_NAMES = [
  'PORT',
  'AGENT_ID',
  'AGENT_NAME',
  'AGENT_MODEL',
  'AGENT_DIR',
  'PLATFORM_URL',
  'PLATFORM_TOKEN',
  'PLATFORM_TOKEN_FILE',
  'GATEWAY_TOKEN',
  'GATEWAY_TOKEN_FILE',
  'STEAD_PLATFORM',
  'STEAD_URL',
  'STEAD_KEY',
  'STEAD_KEY_FILE',
  'STEAD_NAME',
]

/**
 * Returns one sentence for each variable that resembles an unset setting. Only a warning: it may belong to another
 * program.
 */
export function listMisspelt(environment: Record<string, string | undefined>): string[] {
  const known = [...SETTING_NAMES, ...OTHER_NAMES]
  return Object.keys(environment).flatMap((given) => {
    const meant = known.includes(given) || isSettingName(given) ? null : findNearName(given.toUpperCase(), known)
    return meant === null || environment[meant] ? [] : [`${given} is no setting and does nothing: is ${meant} meant?`]
  })
}

/** Prints the warnings to standard error, for commands that print data. */
export function warnOfMisspelt(environment: Record<string, string | undefined>): void {
  for (const sentence of listMisspelt(environment)) process.stderr.write(`stead: ${sentence}\n`)
}
