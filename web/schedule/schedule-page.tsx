import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { tasksQuery } from './schedule-api.ts'
import { TaskForm } from './task-form.tsx'
import { TaskRow } from './task-row.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/schedule')

/** Page `/agents/$agentId/schedule`. */
export function SchedulePage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Schedule">
      {({ agent }) => <Schedule agentId={agent.id} />}
    </AgentFrame>
  )
}

function Schedule({ agentId }: { agentId: string }) {
  const query = useQuery(tasksQuery(agentId))
  const [isAdding, setAdding] = useState(false)
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      <Panel
        title="Scheduled tasks"
        actions={
          !isAdding && (
            <Button look="primary" onClick={() => setAdding(true)}>
              <Plus aria-hidden className="size-4" />
              New task
            </Button>
          )
        }
      >
        {isAdding && (
          <div className="border-t border-line p-4 sm:p-6">
            <TaskForm agentId={agentId} task={null} onDone={() => setAdding(false)} />
          </div>
        )}
        <Loaded
          query={query}
          what="tasks"
          problemClassName="px-4 pb-4"
          placeholder={
            <LoadingShapes what="tasks" className="grid gap-3 px-4 pb-4">
              <Skeleton className="h-16" />
              <Skeleton className="h-16" />
            </LoadingShapes>
          }
        >
          {(tasks) =>
            tasks.length > 0 ? (
              <ul className="divide-y divide-line border-t border-line">
                {tasks.map((task) => (
                  <TaskRow key={task.id} task={task} />
                ))}
              </ul>
            ) : (
              <p className="border-t border-line px-4 py-6 text-muted sm:px-6">
                No scheduled tasks yet. A task sends the agent a message on a schedule.
              </p>
            )
          }
        </Loaded>
      </Panel>
    </div>
  )
}
