/** Messengers that agents connect to; the built-in agent supports the first three. */
export const MESSENGERS = [
  'telegram',
  'discord',
  'slack',
  'whatsapp',
  'signal',
  'matrix',
  'msteams',
  'imessage',
] as const

/** Where a message was written: `web` is the dashboard or the API. */
export const PLATFORMS = ['web', 'mail', 'webhook', ...MESSENGERS] as const
export type PlatformName = (typeof PLATFORMS)[number]
