import { RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '../ui/button.tsx'
import type { Turn } from './shown-turn.ts'

const SLOW_MS = 5_000
const STUCK_MS = 15_000

type SilenceProps = { turn: Turn; agentName: string; onRetry: () => void }

/** Says that an agent is slow once nothing has come for a while, and later offers to ask it again. */
export function Silence({ turn, agentName, onRetry }: SilenceProps) {
  const silence = useSilence(`${turn.id} ${turn.reply.length} ${turn.toolCalls.length}`)
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-2">
      <p role="status" className="text-sm text-muted empty:hidden">
        {silence !== 'short' && `${agentName} is slow to answer.`}
      </p>
      {silence === 'long' && turn.id !== null && (
        <Button onClick={onRetry}>
          <RotateCw aria-hidden className="size-4" />
          Retry
        </Button>
      )}
    </div>
  )
}

/** How long nothing has happened, which `sign` tells by changing. */
function useSilence(sign: string): 'short' | 'felt' | 'long' {
  const [silence, setSilence] = useState<'short' | 'felt' | 'long'>('short')
  // biome-ignore lint/correctness/useExhaustiveDependencies: counts anew with each sign of life
  useEffect(() => {
    setSilence('short')
    const slow = setTimeout(() => setSilence('felt'), SLOW_MS)
    const stuck = setTimeout(() => setSilence('long'), STUCK_MS)
    return () => {
      clearTimeout(slow)
      clearTimeout(stuck)
    }
  }, [sign])
  return silence
}
