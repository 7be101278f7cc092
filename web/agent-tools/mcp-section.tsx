import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { McpServer } from '../../src/features/conversations/mcp-servers/schemas.ts'
import { messageFor } from '../api/request.ts'
import { SectionForm } from '../settings/section-form.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, PasswordField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { NewCommand } from './new-command.tsx'
import { addServer, changeServer, removeServer, serversQuery, serverToolsQuery } from './tools-api.ts'
import { TryTool } from './try-tool.tsx'

const ServerForm = z.object({
  name: z.string().trim().min(1, 'Enter a name'),
  url: z.url('Enter a URL'),
  bearer: z.string().transform((text) => text || undefined),
})

export function McpSection({ agent }: { agent: WebAgent }) {
  const { data, error, refetch } = useQuery(serversQuery(agent.id))
  return (
    <Section
      title="MCP servers"
      lead={`Give ${agent.name} more tools. Tools you have not allowed ask for approval before each use.`}
    >
      {data?.map((server) => (
        <Server key={server.id} agentId={agent.id} server={server} />
      ))}
      {!data && error && <LoadProblem what="MCP servers" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-16" />}
      {data && <NewServer agentId={agent.id} />}
      {data && <NewCommand agentId={agent.id} />}
    </Section>
  )
}

function Server({ agentId, server }: { agentId: string; server: McpServer }) {
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const removal = useMutation({ mutationFn: () => removeServer(client, agentId, server.id) })
  return (
    <div className="grid grid-cols-1 gap-2 border-b border-line pb-3">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 text-sm wrap-anywhere">
          <span className="font-medium">{server.name}</span>{' '}
          <span className="text-muted">{server.url ?? [server.command, ...server.args].join(' ')}</span>
        </p>
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide tools' : 'Show tools'}
        </Button>
        <Button aria-label={`Remove ${server.name}`} isPending={removal.isPending} onClick={() => removal.mutate()}>
          Remove
        </Button>
      </div>
      {removal.error && <Notice tone="problem">{messageFor(removal.error)}</Notice>}
      {isOpen && <ServerTools agentId={agentId} server={server} />}
    </div>
  )
}

function ServerTools({ agentId, server }: { agentId: string; server: McpServer }) {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery(serverToolsQuery(agentId, server.id))
  const trust = useMutation({
    mutationFn: (trustedTools: string[]) => changeServer(client, agentId, server.id, { trustedTools }),
  })
  if (error) return <LoadProblem what="tools" error={error} onRetry={refetch} />
  if (!data) return <Skeleton className="h-10" />
  if (data.length === 0) return <p className="text-sm text-muted">This server has no tools.</p>
  const trusted = server.trustedTools ?? data.filter(({ isTrusted }) => isTrusted).map(({ name }) => name)
  return (
    <>
      <fieldset disabled={trust.isPending} className="grid grid-cols-1 gap-2">
        <legend className="mb-2 text-sm text-muted">
          Tools allowed without approval. By default, the tools that the server marks as read-only.
        </legend>
        {trust.error && <Notice tone="problem">{messageFor(trust.error)}</Notice>}
        {data.map(({ name, description }) => (
          <CheckField
            key={name}
            label={name}
            hint={description.slice(0, 300)}
            checked={trusted.includes(name)}
            onChange={(event) => {
              const others = trusted.filter((one) => one !== name)
              trust.mutate(event.target.checked ? [...others, name] : others)
            }}
          />
        ))}
      </fieldset>
      <TryTool agentId={agentId} serverId={server.id} tools={data} />
    </>
  )
}

function NewServer({ agentId }: { agentId: string }) {
  const client = useQueryClient()
  const form = useForm(
    ServerForm,
    async (server) => {
      await addServer(client, agentId, server)
      form.formRef.current?.reset()
    },
    () => null,
  )
  return (
    <SectionForm form={form} action="Add server">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField
          label="Server name"
          name="name"
          autoComplete="off"
          placeholder="weather"
          error={form.problem?.fields.name}
        />
        <TextField
          label="Server URL"
          name="url"
          autoComplete="off"
          placeholder="https://mcp.example.com/mcp"
          error={form.problem?.fields.url}
        />
      </div>
      <PasswordField
        label="Bearer token"
        name="bearer"
        autoComplete="off"
        hint="Optional. Encrypted, and sent only to this server."
        error={form.problem?.fields.bearer}
      />
    </SectionForm>
  )
}
