import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type SyntheticEvent, useState } from 'react'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import {
  CONNECT_OUTCOMES,
  type ConnectOutcome,
  type McpServer,
  type McpServerTools,
} from '../../src/features/conversations/mcp-servers/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, PasswordField, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, LoadProblem, Notice, Patience, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { McpConnection } from './mcp-connection.tsx'
import { McpDirectoryList } from './mcp-directory.tsx'
import { listArguments, readArguments, type ToolArgument } from './tool-arguments.ts'
import { addServer, changeServer, removeServer, serversQuery, serverToolsQuery, tryTool } from './tools-api.ts'

const route = getRouteApi('/signed-in/agents/$agentId/settings')

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
      <ConnectOutcomeNotice />
      {data?.map((server) => (
        <Server key={server.id} agentId={agent.id} server={server} />
      ))}
      {!data && error && <LoadProblem what="MCP servers" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-16" />}
      {data && <McpDirectoryList agentId={agent.id} servers={data} />}
      {data && <NewServer agentId={agent.id} />}
      {data && <NewCommand agentId={agent.id} />}
    </Section>
  )
}

function Server({ agentId, server }: { agentId: string; server: McpServer }) {
  const [isOpen, setOpen] = useState(false)
  const removal = useMutation({ mutationFn: () => removeServer(agentId, server.id) })
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
      <ErrorNotice error={removal.error} />
      {server.url !== null && !server.headerNames.includes('authorization') && (
        <McpConnection agentId={agentId} server={server} />
      )}
      {isOpen && <ServerTools agentId={agentId} server={server} />}
    </div>
  )
}

function ServerTools({ agentId, server }: { agentId: string; server: McpServer }) {
  const { data, error, refetch } = useQuery(serverToolsQuery(agentId, server.id))
  const trust = useMutation({
    mutationFn: (trustedTools: string[]) => changeServer(agentId, server.id, { trustedTools }),
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
        <ErrorNotice error={trust.error} />
        {data.map((tool) => tool.isChanged && <ChangedTool key={tool.name} {...{ agentId, server, tool }} />)}
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

type ChangedToolProps = { agentId: string; server: McpServer; tool: McpServerTools['tools'][number] }

/** Until it is accepted, a changed tool needs approval even when it is allowed. */
function ChangedTool({ agentId, server, tool }: ChangedToolProps) {
  const accept = useMutation({
    mutationFn: async () => {
      await changeServer(agentId, server.id, { acceptedTools: { [tool.name]: tool.fingerprint } })
      await refresh(serverToolsQuery(agentId, server.id))
    },
  })
  return (
    <Notice tone="warning" title={`${tool.name} has changed`}>
      <p className="wrap-anywhere">It now says: {tool.description.slice(0, 1000) || 'nothing'}</p>
      <p>It asks for approval before each use until you accept the change.</p>
      <ErrorNotice error={accept.error} />
      <Button
        className="justify-self-start"
        aria-label={`Accept the change of ${tool.name}`}
        isPending={accept.isPending}
        onClick={() => accept.mutate()}
      >
        Accept
      </Button>
    </Notice>
  )
}

const outcomeNotices: Readonly<Record<ConnectOutcome, { tone: 'good' | 'problem'; text: string }>> = {
  connected: { tone: 'good', text: 'The server is connected.' },
  denied: { tone: 'problem', text: 'The sign-in was refused at the server. Connect it again to allow it.' },
  expired: {
    tone: 'problem',
    text: 'This sign-in was not started here, or took longer than ten minutes. Connect again.',
  },
  issuer: {
    tone: 'problem',
    text: 'The answer came from another server than the one that the agent asked. Nothing was connected.',
  },
  failed: { tone: 'problem', text: 'The server did not complete the sign-in. Try again later.' },
}

/** Result of a sign-in, from which the browser has just returned. */
function ConnectOutcomeNotice() {
  const { mcp } = route.useSearch()
  const outcome = CONNECT_OUTCOMES.find((each) => each === mcp)
  if (!outcome) return null
  const { tone, text } = outcomeNotices[outcome]
  return <Notice tone={tone}>{text}</Notice>
}

function NewServer({ agentId }: { agentId: string }) {
  const form = useForm(ServerForm, async (server) => {
    await addServer(agentId, server)
    form.formRef.current?.reset()
  })
  return (
    <Form form={form} verb="Add server">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField label="Server name" name="name" placeholder="weather" />
        <TextField label="Server URL" name="url" placeholder="https://mcp.example.com/mcp" />
      </div>
      <PasswordField label="Bearer token" name="bearer" hint="Optional. Encrypted, and sent only to this server." />
    </Form>
  )
}

const toLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

const CommandForm = z.object({
  name: z.string().trim().min(1, 'Enter a name'),
  command: z.string().trim().min(1, 'Enter a program'),
  args: z.string().transform(toLines),
  environment: z
    .string()
    .transform(toLines)
    .refine((lines) => lines.every((line) => line.indexOf('=') > 0), 'Enter one NAME=value per line')
    .transform((lines) =>
      Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
    ),
})

function NewCommand({ agentId }: { agentId: string }) {
  const form = useForm(CommandForm, async (server) => {
    await addServer(agentId, server)
    form.formRef.current?.reset()
  })
  return (
    <details className="text-sm">
      <summary className="cursor-pointer py-2 font-medium">Run a server from a command</summary>
      <p className="mb-3 text-muted">
        Runs inside the agent’s container, so it requires a container. The program bun is always available. Removing the
        server replaces the agent’s token and restarts it.
      </p>
      <Form form={form} verb="Add command">
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <TextField label="Command name" name="name" placeholder="notes" />
          <TextField label="Program" name="command" placeholder="bun" />
        </div>
        <TextArea label="Arguments, one per line" name="args" rows={3} placeholder={'x\nsome-mcp-server'} />
        <TextArea label="Environment variables, one NAME=value per line. Encrypted." name="environment" rows={2} />
      </Form>
    </details>
  )
}

type TryToolProps = { agentId: string; serverId: string; tools: McpServerTools['tools'] }

function TryTool({ agentId, serverId, tools }: TryToolProps) {
  const [name, setName] = useState(tools[0]?.name ?? '')
  const tool = tools.find((each) => each.name === name)
  if (!tool) return null
  return (
    <div className="grid grid-cols-1 gap-3 rounded-lg bg-sunken p-3">
      <SelectField label="Try a tool" value={name} onChange={({ target }) => setName(target.value)}>
        {tools.map((each) => (
          <option key={each.name}>{each.name}</option>
        ))}
      </SelectField>
      <TryForm key={name} agentId={agentId} serverId={serverId} tool={tool} />
    </div>
  )
}

type TryFormProps = { agentId: string; serverId: string; tool: McpServerTools['tools'][number] }

function TryForm({ agentId, serverId, tool }: TryFormProps) {
  const wanted = listArguments(tool.inputSchema)
  const [problems, setProblems] = useState<Record<string, string>>({})
  const trial = useMutation({
    mutationFn: (input: Record<string, unknown>) => tryTool(agentId, serverId, tool.name, input),
  })
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([key, value]) => [key, String(value)]),
    )
    const read = readArguments(wanted, values)
    setProblems(read.problems)
    if (Object.keys(read.problems).length === 0 && !trial.isPending) trial.mutate(read.input)
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-3">
      {tool.description && <p className="text-sm text-muted">{tool.description.slice(0, 300)}</p>}
      {wanted.map((argument) => (
        <ArgumentField key={argument.name} argument={argument} error={problems[argument.name]} />
      ))}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" isPending={trial.isPending}>
          Run tool
        </Button>
        <p className="text-sm text-muted">Runs the tool for real, as the agent would.</p>
      </div>
      <Patience isPending={trial.isPending}>Running. Times out after 30 seconds.</Patience>
      <ErrorNotice title="Could not run the tool" error={trial.error} />
      {trial.data && (
        <div role="status" className="grid grid-cols-1 gap-1.5">
          <p className={`text-sm font-medium ${trial.data.isError ? 'text-bad' : ''}`}>
            {trial.data.isError ? 'The tool returned an error' : 'Result'}
          </p>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-md bg-surface px-3 py-2 text-xs whitespace-pre-wrap wrap-anywhere"
          >
            {trial.data.text || 'No output.'}
          </pre>
        </div>
      )}
    </form>
  )
}

function ArgumentField({ argument, error }: { argument: ToolArgument; error: string | undefined }) {
  const { name, kind, isRequired, description, choices } = argument
  const label = isRequired ? name : `${name} (optional)`
  const hint = description || undefined
  if (kind === 'json') return <TextArea label={`${label}, as JSON`} name={name} rows={3} error={error} />
  if (kind === 'text' || kind === 'number') {
    const mode = kind === 'number' ? 'decimal' : 'text'
    return <TextField label={label} name={name} hint={hint} inputMode={mode} error={error} />
  }
  return (
    <SelectField label={label} name={name} hint={hint} error={error}>
      {(!isRequired || kind === 'choice') && <option value="">–</option>}
      {(kind === 'boolean' ? ['true', 'false'] : choices).map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </SelectField>
  )
}
