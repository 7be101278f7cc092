import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { McpServer, StartedAuthorization } from '../../src/features/conversations/mcp-servers/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Notice, Patience } from '../ui/notice.tsx'
import { disconnectServer, startAuthorization } from './tools-api.ts'

type ConnectionProps = { agentId: string; server: McpServer }

/** The OAuth sign-in of a server that is reached by its address. */
export function McpConnection({ agentId, server }: ConnectionProps) {
  const start = useMutation({ mutationFn: () => startAuthorization(agentId, server.id, {}) })
  const end = useMutation({ mutationFn: () => disconnectServer(agentId, server.id) })
  const [given, setGiven] = useState<StartedAuthorization | null>(null)
  const status = server.authorization?.status ?? null
  const started = given ?? start.data
  if (started) {
    const cancel = () => {
      start.reset()
      setGiven(null)
    }
    return <Consent started={started} onCancel={cancel} />
  }
  const needsClient = start.error instanceof ApiError && start.error.code === 'CLIENT_REQUIRED'
  return (
    <div className="grid grid-cols-1 gap-2">
      {status === 'expired' && (
        <Notice tone="warning" title={`${server.name} needs a new sign-in`}>
          <p>{describeMissing(server)}</p>
        </Notice>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {status !== null && <Badge tone={status === 'connected' ? 'good' : 'plain'}>{labels[status]}</Badge>}
        <p className="min-w-0 flex-1 text-sm text-muted wrap-anywhere">{describeAccess(server)}</p>
        {status === 'connected' ? (
          <Button aria-label={`Disconnect ${server.name}`} isPending={end.isPending} onClick={() => end.mutate()}>
            Disconnect
          </Button>
        ) : (
          <Button aria-label={`Connect ${server.name}`} isPending={start.isPending} onClick={() => start.mutate()}>
            Connect
          </Button>
        )}
      </div>
      <Patience isPending={start.isPending}>Asking the server how to sign in.</Patience>
      {!needsClient && <ErrorNotice title="Could not connect" error={start.error} />}
      <ErrorNotice title="Could not disconnect" error={end.error} />
      {end.data && !end.data.revoked && (
        <Notice tone="note">
          Disconnected. The server did not revoke the sign-in: remove the application Stead in your account there.
        </Notice>
      )}
      {needsClient && <ClientForm agentId={agentId} server={server} onStarted={setGiven} />}
    </div>
  )
}

const labels = { connected: 'Connected', expired: 'Sign-in needed', disconnected: 'Disconnected' } as const

function describeAccess({ authorization }: McpServer): string {
  if (authorization?.status !== 'connected') return 'Sign in where the server requires OAuth.'
  const { issuer, scopes } = authorization
  return `Signed in at ${issuer}${scopes.length > 0 ? `, with ${scopes.join(', ')}` : ''}`
}

function describeMissing({ authorization }: McpServer): string {
  const missing = authorization?.missingScopes ?? []
  if (missing.length === 0) return 'It no longer accepts the sign-in of this agent.'
  return `It wants the agent to have more access: ${missing.join(', ')}.`
}

/** Shows where the browser goes next, and what the agent will be able to do. */
export function Consent({ started, onCancel }: { started: StartedAuthorization; onCancel: () => void }) {
  return (
    <Notice tone="note" title={`Continue at ${new URL(started.issuer).host}`}>
      <p>
        {started.scopes.length > 0
          ? `Stead asks for this access: ${started.scopes.join(', ')}.`
          : 'The server names no scopes: it decides what the agent may do.'}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" onClick={() => window.location.assign(started.url)}>
          Continue
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </Notice>
  )
}

const Client = z.object({
  clientId: z.string().trim().min(1, 'Enter the client ID'),
  clientSecret: z.string().transform((text) => text || undefined),
})

type ClientFormProps = ConnectionProps & { onStarted: (started: StartedAuthorization) => void }

/** For authorization servers that do not register clients. */
function ClientForm({ agentId, server, onStarted }: ClientFormProps) {
  const form = useForm(Client, async (client) => onStarted(await startAuthorization(agentId, server.id, client)))
  return (
    <Form form={form} verb="Use this client">
      <p className="text-sm text-muted wrap-anywhere">
        This server does not register clients. Create an OAuth application there with the callback{' '}
        {`${window.location.origin}/api/mcp/callback`}, and enter its client ID and secret.
      </p>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField label="Client ID" name="clientId" />
        <PasswordField label="Client secret" name="clientSecret" hint="Encrypted. Empty for a public client." />
      </div>
    </Form>
  )
}
