import type { Config } from '../../core/config.ts'
import type { Log } from '../../core/log.ts'
import { createHostRule, type HostRule } from '../../http/hosts.ts'

const QUIET_MS = 60_000
/** Logs at most this many characters of an unknown host name. */
const SHOWN_CHARACTERS = 100

type HostConfig = Pick<Config, 'host' | 'domain' | 'agentsDomain' | 'allowedHosts' | 'appUrl' | 'cluster'>

/** Returns the rule for accepted Host headers. */
export function hostRuleOf(config: HostConfig): HostRule {
  const urls = [config.appUrl, config.cluster?.nodeUrl].filter((url) => url !== undefined)
  const names = [config.host, config.domain, ...urls.map((url) => new URL(url).hostname), ...config.allowedHosts]
  return createHostRule({ names, agentsDomain: config.agentsDomain })
}

/** Logs rejected host names, at most one per minute: a name may be missing in the settings. */
export function createMisdirectedNote(log: Log): (host: string) => void {
  let quietUntilMs = 0
  return (host) => {
    if (performance.now() < quietUntilMs) return
    quietUntilMs = performance.now() + QUIET_MS
    log.warn(
      { host: host.slice(0, SHOWN_CHARACTERS) },
      'a request named a host that is not served; if it is yours, add it to ALLOWED_HOSTS',
    )
  }
}
