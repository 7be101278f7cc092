import { isSettingName, SETTING_NAMES } from '../core/settings/read.ts'
import { findNearName } from '../core/text/near-name.ts'

/** What the agent and the commands for machines read beside the settings of the service. */
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
 * One sentence for each variable that is nearly the name of a setting which is not given. Variables of other programs are
 * no business of ours, and one of them may look like a slip: that is worth a word and no reason to stop.
 */
export function listMisspelt(environment: Record<string, string | undefined>): string[] {
  const known = [...SETTING_NAMES, ...OTHER_NAMES]
  return Object.keys(environment).flatMap((given) => {
    const meant = known.includes(given) || isSettingName(given) ? null : findNearName(given.toUpperCase(), known)
    return meant === null || environment[meant] ? [] : [`${given} is no setting and does nothing: is ${meant} meant?`]
  })
}

/** For commands whose standard output is data. */
export function warnOfMisspelt(environment: Record<string, string | undefined>): void {
  for (const sentence of listMisspelt(environment)) process.stderr.write(`stead: ${sentence}\n`)
}
