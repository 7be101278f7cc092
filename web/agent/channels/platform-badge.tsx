import type { ChatSession } from '../../../src/features/conversations/chat/schemas.ts'
import { Badge } from '../../ui/badge.tsx'

type PlatformName = ChatSession['platform']

const NAMES: Readonly<Record<PlatformName, string>> = {
  web: 'Dashboard',
  mail: 'E-mail',
  webhook: 'Webhook',
  telegram: 'Telegram',
  discord: 'Discord',
  slack: 'Slack',
  whatsapp: 'WhatsApp',
  signal: 'Signal',
  matrix: 'Matrix',
  msteams: 'Microsoft Teams',
  imessage: 'iMessage',
}

export function platformName(platform: PlatformName): string {
  return NAMES[platform]
}

export function PlatformBadge({ platform }: { platform: PlatformName }) {
  if (platform === 'web') return null
  return <Badge>{NAMES[platform]}</Badge>
}
