import { Play, RotateCw } from 'lucide-react'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { AgentText } from './agent-text.tsx'
import { FileChips } from './attachments.tsx'
import { MessageFrame } from './message.tsx'
import { ReplyText } from './reply-text.tsx'
import type { Turn } from './shown-turn.ts'
import { Silence } from './silence.tsx'
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

export function LiveTurn({ turn, agentId, agentName, canRetry, onRetry, onContinue }: LiveTurnProps) {
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
              <Button look="primary" disabled={!canRetry} onClick={onContinue}>
                <Play aria-hidden className="size-4" />
                Continue
              </Button>
            )}
            <Button disabled={!canRetry} onClick={onRetry}>
              <RotateCw aria-hidden className="size-4" />
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
