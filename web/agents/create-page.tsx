import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { ProvisionRequest } from '../../src/features/agents/registry/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { refresh } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { PLAN_NEEDED, PlanLink, useNeedsPlan } from '../billing/plan-needed.tsx'
import { Page } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { agentsQuery, provisionAgent } from './agents-api.ts'
import { DeploymentProgress } from './deployment-progress.tsx'
import { FieldMark } from './field-mark.tsx'
import { ModelField } from './model-field.tsx'

const route = getRouteApi('/signed-in/agents/new')

/** Page `/agents/new`. */
export function CreatePage() {
  const { agent, name } = route.useSearch()
  return agent ? <Deploying key={agent} agent={{ id: agent, name: name ?? 'Your agent' }} /> : <CreateForm />
}

function CreateForm() {
  const navigate = useNavigate()
  const needsPlan = useNeedsPlan()
  const form = useForm(
    ProvisionRequest,
    async (wish) => {
      const agent = await provisionAgent(wish)
      void refresh(agentsQuery)
      await navigate({ to: '/agents/new', search: { agent: agent.id, name: agent.name }, replace: true })
    },
    fieldOf,
  )
  return (
    <Page title="Create agent" lead="Each agent has its own gateway, memory and files.">
      <Form
        form={form}
        notice={needsPlan ? null : form.problem?.form && <Refusal error={form.problem.cause} />}
        className="grid max-w-xl grid-cols-1 gap-5 rounded-xl border border-line bg-surface p-4 sm:p-6"
      >
        {needsPlan && <SubscriptionNeeded />}
        <TextField label="Name" name="name" maxLength={100} placeholder="Ada" autoFocus />
        <ModelField />
        <div className="flex flex-wrap gap-2">
          <Button type="submit" look="primary" isPending={form.isPending} disabled={needsPlan}>
            Create agent
          </Button>
          <Link to="/agents" className={buttonClass('ghost')}>
            Cancel
          </Link>
        </div>
      </Form>
    </Page>
  )
}

function Deploying({ agent }: { agent: { id: string; name: string } }) {
  const navigate = useNavigate()
  const openChat = useCallback(
    () => void navigate({ to: '/agents/$agentId', params: { agentId: agent.id }, replace: true }),
    [navigate, agent.id],
  )
  return (
    <Page title={`Creating ${agent.name}`} lead="You can leave this page. Setup continues in the background.">
      <div className="grid max-w-xl grid-cols-1 gap-5 rounded-xl border border-line bg-surface p-4 sm:p-6">
        <div className="flex items-center gap-3">
          <FieldMark seed={agent.id} className="size-10" />
          <p className="min-w-0 truncate font-medium">{agent.name}</p>
        </div>
        <DeploymentProgress
          agent={agent}
          // Long enough to see that every step is done.
          onRunning={() => setTimeout(openChat, 900)}
          onDeleted={() => void navigate({ to: '/agents' })}
          readyAction={
            <Button look="primary" className="justify-self-start" onClick={openChat}>
              Open chat
            </Button>
          }
        />
      </div>
    </Page>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.status !== 400) return null
  return /model/i.test(error.message) ? 'model' : /name/i.test(error.message) ? 'name' : null
}

export function Refusal({ error }: { error: unknown }) {
  if (error instanceof ApiError && error.status === 402) return <SubscriptionNeeded />
  if (error instanceof ApiError && error.limit !== null) {
    return (
      <Notice tone="warning" role="alert" title="Agent limit reached">
        <p>
          Your plan allows {error.limit} {error.limit === 1 ? 'agent' : 'agents'} and you have{' '}
          {error.current ?? error.limit}. Delete an agent or upgrade your plan.
        </p>
      </Notice>
    )
  }
  return <ErrorNotice title="Could not create the agent" error={error} />
}

export function SubscriptionNeeded() {
  const email = useQuery(sessionQuery).data?.user?.email ?? 'EMAIL'
  return (
    <Notice tone="warning" role="alert" title="Active subscription required">
      <p>{PLAN_NEEDED}</p>
      <PlanLink />
      <p>The administrator can also assign a plan:</p>
      <code className="rounded-md bg-surface px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">
        stead user set-plan {email} starter
      </code>
      <p>Plans are starter, pro and enterprise. Then create the agent again.</p>
    </Notice>
  )
}
