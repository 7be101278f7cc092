import { useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ApprovalItem } from '../approvals/approval-item.tsx'
import { waitingQuery } from '../approvals/approvals-api.ts'
import { useCountFollows } from '../approvals/use-waiting.ts'
import { Button } from '../ui/button.tsx'
import type { Turn } from './shown-turn.ts'

const NOTICED_MS = 1_500
const SLOW_MS = 5_000
const STUCK_MS = 15_000

type SilenceProps = { turn: Turn; agentId: string; agentName: string; onRetry: () => void }

/** After a pause, shows pending approvals or a notice, and later offers a retry. */
export function Silence({ turn, agentId, agentName, onRetry }: SilenceProps) {
  const silence = useSilence(`${turn.id} ${turn.reply.length} ${turn.toolCalls.length}`)
  const { data } = useQuery({ ...waitingQuery(agentId), enabled: silence !== 'short' })
  useCountFollows(data)
  const wanted = data ?? []
  if (silence !== 'short' && wanted.length > 0) {
    return (
      <ul
        aria-label="Waiting for your approval"
        className="my-2 divide-y divide-line rounded-xl border border-line bg-surface"
      >
        {wanted.map((approval) => (
          <ApprovalItem key={approval.id} approval={approval} />
        ))}
      </ul>
    )
  }
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-2">
      <p role="status" className="text-sm text-muted empty:hidden">
        {(silence === 'felt' || silence === 'long') && `${agentName} is taking longer than usual.`}
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

type Felt = 'short' | 'noticed' | 'felt' | 'long'

/** Returns how long `sign` has not changed. */
function useSilence(sign: string): Felt {
  const [silence, setSilence] = useState<Felt>('short')
  // biome-ignore lint/correctness/useExhaustiveDependencies: restarts with each change
  useEffect(() => {
    setSilence('short')
    const noticed = setTimeout(() => setSilence('noticed'), NOTICED_MS)
    const slow = setTimeout(() => setSilence('felt'), SLOW_MS)
    const stuck = setTimeout(() => setSilence('long'), STUCK_MS)
    return () => {
      clearTimeout(noticed)
      clearTimeout(slow)
      clearTimeout(stuck)
    }
  }, [sign])
  return silence
}
