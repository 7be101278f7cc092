import type { RunAnswer, RunLine } from '../../src/features/conversations/swarms/schemas.ts'
import { Badge } from '../ui/badge.tsx'

const LOOKS = {
  queued: { tone: 'plain', word: 'Queued' },
  running: { tone: 'warning', word: 'Running' },
  completed: { tone: 'good', word: 'Done' },
  partially_failed: { tone: 'warning', word: 'Partly failed' },
  failed: { tone: 'problem', word: 'Failed' },
  cancelled: { tone: 'plain', word: 'Stopped' },
} as const

export function RunStateBadge({ state }: { state: RunLine['state'] | RunAnswer['state'] }) {
  const { tone, word } = LOOKS[state]
  return <Badge tone={tone}>{word}</Badge>
}
