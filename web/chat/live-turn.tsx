import { useQuery } from '@tanstack/react-query'
import { Play, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ApprovalItem } from '../approvals/approval-item.tsx'
import { useCountFollows, waitingQuery } from '../approvals/approvals-api.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { AgentText } from './agent-text.tsx'
import { FileChips } from './attachments.tsx'
import { MessageFrame } from './message.tsx'
import { ReplyText } from './reply-text.tsx'
import type { Turn } from './shown-turn.ts'
import { ToolFolds } from './tool-folds.tsx'

type LiveTurnProps = {
  turn: Turn
  agentId: string
  agentName: string
  canRetry: boolean
  onRetry: () => void
  onContinue: () => void
}

const REMARKS: Record<Turn['state'], string | null> = {
  waiting: null,
  answering: null,
  stopped: 'Stopped',
  failed: 'Incomplete',
}

export function LiveTurnView({ turn, agentId, agentName, canRetry, onRetry, onContinue }: LiveTurnProps) {
  const { text, attachments, reply, toolCalls, sentAt, state, isLost, problem, isInterrupted } = turn
  const isOver = state === 'failed' || state === 'stopped'
  return (
    <>
      <MessageFrame sender="user" agentName={agentName} timestamp={sentAt} remark={null}>
        <ReplyText text={text} />
        {attachments.length > 0 && <FileChips files={attachments} />}
      </MessageFrame>
      {(reply || toolCalls.length > 0 || !isOver) && (
        <MessageFrame sender="agent" agentName={agentName} timestamp={sentAt} remark={REMARKS[state]}>
          <ToolFolds calls={toolCalls} />
          {reply ? <AgentText text={reply} isGrowing={!isOver} /> : !isOver && <Thinking agentName={agentName} />}
          {!isOver && !isLost && <Silence turn={turn} agentId={agentId} agentName={agentName} onRetry={onRetry} />}
        </MessageFrame>
      )}
      {!isOver && problem && (
        <li>
          <Notice tone="problem">{problem}</Notice>
        </li>
      )}
      {isOver && (
        <li className="grid justify-items-start gap-2">
          {state === 'failed' ? (
            <Notice tone="problem" title="Incomplete reply">
              {problem}
            </Notice>
          ) : (
            <p role="status" className="text-sm text-muted">
              This reply was stopped.
            </p>
          )}
          <div className="flex flex-wrap gap-2">
            {isInterrupted && (
              <Button Icon={Play} look="primary" disabled={!canRetry} onClick={onContinue}>
                Continue
              </Button>
            )}
            <Button Icon={RotateCw} disabled={!canRetry} onClick={onRetry}>
              Retry
            </Button>
          </div>
        </li>
      )}
    </>
  )
}

function Thinking({ agentName }: { agentName: string }) {
  return (
    <p role="status" className="flex h-6 items-center gap-1.5">
      <span className="sr-only">{agentName} is replying</span>
      {['[animation-delay:0ms]', '[animation-delay:200ms]', '[animation-delay:400ms]'].map((delay) => (
        <span key={delay} aria-hidden className={`size-1.5 animate-breathe rounded-full bg-muted ${delay}`} />
      ))}
    </p>
  )
}

const NOTICED_MS = 1_500
const SLOW_MS = 5_000
const STUCK_MS = 15_000

type SilenceProps = { turn: Turn; agentId: string; agentName: string; onRetry: () => void }

/** After a pause, shows pending approvals or a notice, and later offers a retry. */
function Silence({ turn, agentId, agentName, onRetry }: SilenceProps) {
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
        <Button Icon={RotateCw} onClick={onRetry}>
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
