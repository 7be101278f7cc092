import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { RunAnswer, SwarmRun } from '../../src/features/conversations/swarms/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { FieldMark } from '../agents/field-mark.tsx'
import { AgentText } from '../chat/agent-text.tsx'
import { formatDuration } from '../cost/figures.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, Notice } from '../ui/notice.tsx'
import { isMissing, Missing, RunStateBadge, SwarmsFrame } from './loaded-swarm.tsx'
import { cancelRun, isSwarmRunUnderWay, runQuery, swarmQuery } from './team-api.ts'

const route = getRouteApi('/signed-in/team/swarms/$swarmId/runs/$runId')

/** Page `/team/swarms/$swarmId/runs/$runId`. */
export function RunPage() {
  const { swarmId, runId } = route.useParams()
  const query = useQuery(runQuery(swarmId, runId))
  const swarm = useQuery(swarmQuery(swarmId)).data
  if (isMissing(query.error)) return <Missing what="run" />
  return (
    <SwarmsFrame
      title={swarm ? `Run of ${swarm.name}` : 'Run'}
      lead={query.data ? <When run={query.data} /> : ''}
      actions={
        <Link to="/team/swarms/$swarmId" params={{ swarmId }} className={buttonClass('plain')}>
          Back to swarm
        </Link>
      }
    >
      <Loaded query={query} what="run" placeholder={<LoadingRows what="run" />}>
        {(run) => <Answers run={run} />}
      </Loaded>
    </SwarmsFrame>
  )
}

function When({ run: { startedAt, finishedAt } }: { run: SwarmRun }) {
  return (
    <>
      Started <Moment at={startedAt} as="minute" />
      {finishedAt && (
        <>
          , ended <Moment at={finishedAt} as="minute" />
        </>
      )}
    </>
  )
}

function Answers({ run }: { run: SwarmRun }) {
  return (
    <>
      <Task run={run} />
      {(run.summary || run.summaryError) && <Summary run={run} />}
      <ul aria-label="Answers" className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
        {run.agents.map((answer) => (
          <Answer key={answer.agentId} answer={answer} isSummarizer={answer.agentId === run.summarizer} />
        ))}
      </ul>
    </>
  )
}

function Task({ run }: { run: SwarmRun }) {
  const stop = useMutation({ mutationFn: () => cancelRun(run.swarmId, run.id) })
  const done = run.agents.filter(({ state }) => state !== 'queued' && state !== 'running').length
  return (
    <section className="grid grid-cols-1 gap-3 rounded-xl border border-line bg-surface p-4 sm:p-6">
      <div className="flex min-h-9 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h2 className="font-semibold">Task</h2>
        <span className="flex flex-wrap items-center gap-3 text-sm text-muted">
          <span role="status" className="tabular-nums">
            {done} of {run.agents.length} answered
          </span>
          <RunStateBadge state={run.state} />
          {isSwarmRunUnderWay(run) && (
            <Button isPending={stop.isPending} onClick={() => stop.mutate()}>
              Stop
            </Button>
          )}
        </span>
      </div>
      <p className="whitespace-pre-wrap wrap-anywhere">{run.task}</p>
      <ErrorNotice title="Could not stop the run" error={stop.error} />
    </section>
  )
}

function Summary({ run: { summary, summaryError } }: { run: SwarmRun }) {
  return (
    <section className="grid grid-cols-1 gap-3 rounded-xl border border-accent bg-surface p-4 sm:p-6">
      <h2 className="font-semibold">Summary</h2>
      {summary && <AgentText text={summary} />}
      {summaryError && <Notice tone="problem">{summaryError}</Notice>}
    </section>
  )
}

const WAITING = {
  queued: 'Queued.',
  running: 'Running…',
  completed: 'Empty answer',
  failed: 'No answer',
  cancelled: 'Stopped before answering',
} as const

function Answer({ answer, isSummarizer }: { answer: RunAnswer; isSummarizer: boolean }) {
  const { agentId, name, state, result, error, durationMs } = answer
  return (
    <li className="grid min-w-0 grid-cols-1 gap-3 rounded-xl border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <FieldMark seed={agentId} className="size-6" />
        <h3 className="min-w-0 font-medium break-words">
          <Link to="/agents/$agentId" params={{ agentId }}>
            {name}
          </Link>
        </h3>
        <RunStateBadge state={state} />
        {isSummarizer && <span className="text-sm text-muted">summarizes</span>}
        {durationMs !== null && (
          <span className="ml-auto text-sm text-muted tabular-nums">{formatDuration(durationMs)}</span>
        )}
      </div>
      {result ? (
        <AgentText text={result} />
      ) : (
        !error && (
          <p className={`text-sm text-muted ${state === 'running' ? 'animate-breathe' : ''}`}>{WAITING[state]}</p>
        )
      )}
      {error && <Notice tone="problem">{error}</Notice>}
    </li>
  )
}
