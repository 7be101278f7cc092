import { useMutation, useQuery } from '@tanstack/react-query'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { AgentTools, ToolsRequest } from '../../src/features/conversations/agent-tools/schemas.ts'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { ErrorNotice, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { changeTools, toolsQuery } from './tools-api.ts'

const profiles = [
  { value: 'minimal', label: 'Minimal: memory and skills' },
  { value: 'messaging', label: 'Messaging: files, web, schedule, other agents' },
  { value: 'coding', label: 'Coding: edit, move and delete files; HTTP requests' },
  { value: 'full', label: 'Full: all tools' },
] as const

const hints = {
  never: undefined,
  sometimes: 'Sometimes asks for approval',
  always: 'Always asks for approval',
} as const

export function ToolsSection({ agent }: { agent: WebAgent }) {
  const { data, error, refetch } = useQuery(toolsQuery(agent.id))
  return (
    <Section title="Tools" lead={`What ${agent.name} can do. Changes apply from its next turn.`}>
      {data ? (
        <ToolFields agent={agent} tools={data} />
      ) : error ? (
        <LoadProblem what="tools" error={error} onRetry={refetch} />
      ) : (
        <Skeleton className="h-40" />
      )}
    </Section>
  )
}

function ToolFields({ agent, tools }: { agent: WebAgent; tools: AgentTools }) {
  const change = useMutation({ mutationFn: (request: ToolsRequest) => changeTools(agent.id, request) })
  const toProfile = (value: string) => profiles.find((profile) => profile.value === value)?.value ?? null
  return (
    <>
      <ErrorNotice error={change.error} />
      <SelectField
        label="Profile"
        value={tools.isChosen ? tools.profile : ''}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ profile: toProfile(event.target.value) })}
      >
        <option value="">Plan default ({tools.isChosen ? 'not set' : tools.profile})</option>
        {profiles.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      {tools.canAcceptNotIsolated && (
        <Notice tone="warning" title="Not isolated">
          <p>
            Commands of this agent could read and change everything that Stead can, other agents and the encryption key
            included.
          </p>
          <CheckField
            label="Allow commands although this agent is not isolated"
            checked={tools.acceptsNotIsolated}
            disabled={change.isPending}
            onChange={(event) => change.mutate(acceptNotIsolated(event.target.checked))}
          />
        </Notice>
      )}
      <fieldset className="grid grid-cols-1 gap-2 sm:grid-cols-2" disabled={change.isPending}>
        <legend className="mb-2 text-sm font-medium">Individual tools</legend>
        {tools.tools.map(({ name, isOn, approval, unavailable }) => (
          <CheckField
            key={name}
            label={name}
            hint={unavailable ?? hints[approval]}
            checked={isOn}
            disabled={unavailable !== null && !(tools.canAcceptNotIsolated && tools.acceptsNotIsolated)}
            onChange={(event) => change.mutate({ switches: { [name]: event.target.checked } })}
          />
        ))}
      </fieldset>
      <TextField
        key={tools.httpHosts.join(' ')}
        label="Hosts allowed for http_request"
        hint="Separated by spaces. *.example.com includes all subdomains. Leave empty to allow none."
        defaultValue={tools.httpHosts.join(' ')}
        onBlur={(event) => {
          const httpHosts = event.target.value.split(/[\s,]+/).filter(Boolean)
          if (httpHosts.join(' ') !== tools.httpHosts.join(' ')) change.mutate({ httpHosts })
        }}
      />
    </>
  )
}

/** Revoking the consent also disables the commands. */
function acceptNotIsolated(isAccepted: boolean): ToolsRequest {
  if (isAccepted) return { acceptNotIsolated: true }
  return { acceptNotIsolated: false, switches: { run_shell: false, run_python: false } }
}
