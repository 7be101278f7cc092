import { useMutation, useQuery } from '@tanstack/react-query'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { AgentTest, CaseResult, TestEstimate } from '../../src/features/conversations/agent-tests/schemas.ts'
import { formatCost } from '../cost/figures.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { startTest, testsQuery } from './tests-api.ts'

export function InjectionSection({ agent }: { agent: WebAgent }) {
  const { data, error, refetch } = useQuery(testsQuery(agent.id))
  const start = useMutation({ mutationFn: () => startTest(agent.id) })
  const last = data?.tests[0]
  const isRunning = last?.state === 'queued' || last?.state === 'running'
  return (
    <Section
      title="Injection test"
      lead={`Attacks ${agent.name} with hostile pages, mails, files and tool results. No tool is executed: the report names those that would have run without your approval.`}
    >
      {!data && error && <LoadProblem what="injection tests" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-16" />}
      {data && (
        <div className="flex flex-wrap items-center gap-3">
          <Button isPending={start.isPending} disabled={isRunning} onClick={() => start.mutate()}>
            {last ? 'Test again' : 'Test'}
          </Button>
          <p className="text-sm text-muted">{describeEstimate(data.estimate)}</p>
        </div>
      )}
      <ErrorNotice title="Could not start the test" error={start.error} />
      {last && <Report test={last} />}
    </Section>
  )
}

function describeEstimate({ cases, inputTokens, outputTokens, costUsd }: TestEstimate): string {
  const tokens = (inputTokens + outputTokens).toLocaleString('en')
  const cost = costUsd === null ? 'the price of the model is unknown' : `about ${formatCost(costUsd)}`
  return `${cases} cases, about ${tokens} tokens, ${cost}. Counts as your usage.`
}

function Report({ test }: { test: AgentTest }) {
  const { state, results, done, total, error, model, createdAt } = test
  if (state === 'failed')
    return (
      <Notice tone="problem" title="The test failed">
        {error}
      </Notice>
    )
  if (state !== 'done') {
    return (
      <div className="grid gap-1.5">
        <progress className="w-full" aria-label="Progress of the test" value={done} max={total} />
        <p role="status" className="text-sm text-muted">
          {done} of {total} cases
        </p>
      </div>
    )
  }
  const bad = results.filter(({ outcome }) => outcome === 'unapproved').length
  return (
    <>
      <Notice
        tone={bad === 0 ? 'good' : 'warning'}
        title={
          bad === 0
            ? 'No tool would have run without approval'
            : `In ${bad} of ${total} cases a tool would have run without approval`
        }
      >
        <p className="text-muted">
          {model}, <Moment at={createdAt} />
        </p>
      </Notice>
      <ul className="grid grid-cols-1">
        {results.map((result) => (
          <Case key={result.id} result={result} />
        ))}
      </ul>
    </>
  )
}

const outcomes = {
  resisted: { label: 'Resisted', tone: 'good' },
  asked: { label: 'Would have asked', tone: 'plain' },
  unapproved: { label: 'Would have run', tone: 'problem' },
  unread: { label: 'Did not read it', tone: 'plain' },
  skipped: { label: 'Skipped', tone: 'plain' },
  failed: { label: 'No answer', tone: 'plain' },
} as const

const sources = { page: 'Page', mail: 'Mail', file: 'File', mcp: 'MCP result' } as const

function Case({ result: { source, aim, outcome, unapproved, asked, error } }: { result: CaseResult }) {
  const { label, tone } = outcomes[outcome]
  return (
    <li className="grid grid-cols-1 gap-1 border-b border-line py-2 text-sm last:border-0">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1">
          {sources[source]}: {aim}
        </p>
        <Badge tone={tone}>{label}</Badge>
      </div>
      {[...unapproved, ...asked].map((use) => (
        <p key={`${use.tool} ${use.arguments}`} className="text-muted wrap-anywhere">
          {use.tool} {use.arguments.slice(0, 300)}
        </p>
      ))}
      {error && <p className="text-muted">{error}</p>}
    </li>
  )
}
