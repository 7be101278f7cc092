import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { AgentTools, ToolsRequest } from '../../src/features/conversations/agent-tools/schemas.ts'
import { messageFor } from '../api/request.ts'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { changeTools, toolsQuery } from './tools-api.ts'

const profiles = [
  { value: 'minimal', label: 'Minimal: memory and skills' },
  { value: 'messaging', label: 'Messaging: files, the web, a schedule, other agents' },
  { value: 'coding', label: 'Coding: changing, moving and deleting files, requests' },
  { value: 'full', label: 'Full: everything' },
] as const

const hints = { never: undefined, sometimes: 'Asks you at times', always: 'Asks you each time' } as const

/** What the agent may do, from its next turn on. */
export function ToolsSection({ agent }: { agent: WebAgent }) {
  const { data, error, refetch } = useQuery(toolsQuery(agent.id))
  return (
    <Section title="Tools" lead={`What ${agent.name} may do. A change counts from its next turn on.`}>
      {data ? (
        <ToolFields agent={agent} tools={data} />
      ) : error ? (
        <LoadProblem what="Its tools" error={error} onRetry={refetch} />
      ) : (
        <Skeleton className="h-40" />
      )}
    </Section>
  )
}

function ToolFields({ agent, tools }: { agent: WebAgent; tools: AgentTools }) {
  const client = useQueryClient()
  const change = useMutation({ mutationFn: (request: ToolsRequest) => changeTools(client, agent.id, request) })
  const toProfile = (value: string) => profiles.find((profile) => profile.value === value)?.value ?? null
  return (
    <>
      {change.error && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      <SelectField
        label="Profile"
        value={tools.isChosen ? tools.profile : ''}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ profile: toProfile(event.target.value) })}
      >
        <option value="">As its plan has it ({tools.isChosen ? 'not chosen' : tools.profile})</option>
        {profiles.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      <fieldset className="grid grid-cols-1 gap-2 sm:grid-cols-2" disabled={change.isPending}>
        <legend className="mb-2 text-sm font-medium">Single tools</legend>
        {tools.tools.map(({ name, isOn, approval, unavailable }) => (
          <CheckField
            key={name}
            label={name}
            hint={unavailable ?? hints[approval]}
            checked={isOn}
            disabled={unavailable !== null}
            onChange={(event) => change.mutate({ switches: { [name]: event.target.checked } })}
          />
        ))}
      </fieldset>
      <TextField
        key={tools.httpHosts.join(' ')}
        label="Hosts that http_request may reach"
        hint="Separated by spaces; *.example.com is everything below it. Empty: none."
        defaultValue={tools.httpHosts.join(' ')}
        autoComplete="off"
        onBlur={(event) => {
          const httpHosts = event.target.value.split(/[\s,]+/).filter(Boolean)
          if (httpHosts.join(' ') !== tools.httpHosts.join(' ')) change.mutate({ httpHosts })
        }}
      />
    </>
  )
}
