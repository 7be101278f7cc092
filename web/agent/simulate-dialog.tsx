import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { SimulatedFailure } from '../../src/features/agents/watchdog/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { api, inPath, request } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Modal } from '../ui/modal.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { ChangeList } from './change-list.tsx'

const rungs = {
  restart: 'Restart the agent',
  configuration: 'Go back to the last healthy configuration',
  image: 'Go back to the last healthy image',
} as const

export function SimulateButton({ agentId }: { agentId: string }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>Simulate failure</Button>
      {isOpen && <SimulateDialog agentId={agentId} onClose={() => setIsOpen(false)} />}
    </>
  )
}

function SimulateDialog({ agentId, onClose }: { agentId: string; onClose: () => void }) {
  const id = useId()
  const query = useQuery({
    queryKey: [...agentQuery(agentId).queryKey, 'simulated-failure'],
    queryFn: ({ signal }) =>
      request(SimulatedFailure, api.POST('/api/agents/{id}/watchdog/simulate', { ...inPath({ id: agentId }), signal })),
    staleTime: 0,
  })
  return (
    <Modal labelledBy={id} onClose={onClose} isLight className="grid max-w-lg gap-4 p-5">
      <h2 id={id} className="text-lg font-semibold">
        If the agent failed now
      </h2>
      <p className="text-muted">The watchdog would take these steps until one works. The agent is not touched.</p>
      <Loaded
        query={query}
        what="repairs"
        placeholder={
          <LoadingShapes what="repairs" className="grid gap-3">
            <Skeleton className="h-24" />
          </LoadingShapes>
        }
      >
        {(failure) => <Steps failure={failure} />}
      </Loaded>
      <div className="flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Modal>
  )
}

function Steps({ failure }: { failure: SimulatedFailure }) {
  if (!failure.repairsItself) return <p>Automatic repairs are off: you are notified, and the agent is not changed.</p>
  return (
    <ol className="grid list-decimal gap-2 pl-5">
      {failure.steps.map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the steps never change their order
        <li key={index}>
          {rungs[step.rung]}
          {step.revision !== null && <span className="text-muted"> (revision {step.revision})</span>}
          <ChangeList changes={step.changes} />
        </li>
      ))}
      <li>
        Stop the agent and notify you with the exit code, the last log lines and the last change
        {failure.retryAfterSeconds !== null && `; start it again after ${toMinutes(failure.retryAfterSeconds)}`}
      </li>
    </ol>
  )
}

function toMinutes(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  return minutes >= 1 ? `${minutes} min` : `${seconds} s`
}
