import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Run } from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { messageFor } from '../api/request.ts'
import { runningTurnsQuery } from '../chat/chat-api.ts'
import { showTurn, type Turn } from '../chat/shown-turn.ts'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { findReply, isUnderWay } from './schedule-api.ts'

const words: Record<Run['status'], string> = {
  queued: 'Queued…',
  running: 'Running…',
  succeeded: 'Done',
  failed: 'Failed',
  skipped: 'Skipped: the previous run was still running',
}

/** Streams a running reply, and reads a finished one from the conversation. */
export function RunOutput({ agentId, run }: { agentId: string; run: Run }) {
  const turn = useRunningTurn(agentId, run)
  const isOver = !isUnderWay(run)
  const reply = useQuery({
    queryKey: ['task-reply', run.id],
    queryFn: ({ signal }) => findReply(agentId, run.messageId ?? '', signal),
    enabled: isOver && run.messageId !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const text = isOver ? (reply.data ?? null) : turn?.reply
  return (
    <div className="grid gap-2 rounded-lg bg-sunken px-4 py-3 text-sm">
      <p role="status" className="text-muted">
        {words[run.status]}
        {run.durationMs !== null && ` in ${(run.durationMs / 1000).toFixed(1)} s`}
        {turn && !isOver && turn.toolCalls.length > 0 && `, ${turn.toolCalls.length} tools used`}
      </p>
      {run.error && <p className="text-bad break-words">{run.error}</p>}
      {reply.error && (
        <Notice tone="problem" title="Could not load the reply">
          {messageFor(reply.error)}
        </Notice>
      )}
      {isOver && reply.isPending && run.messageId !== null && <Skeleton className="h-5 w-3/5" />}
      {text && <p className="max-h-80 overflow-y-auto whitespace-pre-wrap wrap-anywhere">{text}</p>}
      {isOver && run.messageId === null && !run.error && (
        <p className="text-muted">No message was sent to the agent.</p>
      )}
      {isOver && reply.data === null && run.messageId !== null && !run.error && (
        <p className="text-muted">The reply is further back in the conversation.</p>
      )}
    </div>
  )
}

function useRunningTurn(agentId: string, run: Run): Turn | null {
  const client = useQueryClient()
  const [turn, setTurn] = useState<Turn | null>(null)
  const { messageId } = run
  const isWanted = messageId !== null && isUnderWay(run)
  const running = useQuery({ ...runningTurnsQuery(agentId), enabled: isWanted })
  const found = running.data?.turns.find(({ questionId }) => questionId === messageId)
  useEffect(() => {
    if (isWanted && !found) void client.invalidateQueries({ queryKey: runningTurnsQuery(agentId).queryKey })
  }, [isWanted, found, agentId, client])
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows each turn once
  useEffect(() => (found ? showTurn(found, null, setTurn, () => undefined).leave : undefined), [found?.id])
  return turn
}
