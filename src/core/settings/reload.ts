import type { Config } from '../config.ts'

/**
 * Copies the settings of `RELOADED_SETTINGS` from `next` in place, because other modules hold references to these
 * parts.
 */
export function reloadConfig(config: Config, next: Config): void {
  Object.assign(config.requestsPerMinute, next.requestsPerMinute)
  Object.assign(config.retentionDays, next.retentionDays)
  Object.assign(config.mail, next.mail)
  config.adminEmails.splice(0, config.adminEmails.length, ...next.adminEmails)
  config.ai.customProviders.splice(0, config.ai.customProviders.length, ...next.ai.customProviders)
  for (const [index, provider] of config.ai.providers.entries()) {
    Object.assign(provider, { apiKey: next.ai.providers[index]?.apiKey })
  }
}
