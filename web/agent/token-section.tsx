import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { agentsQuery, isOnOwnMachine } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { getToken, rotateGatewayToken, rotatePlatformToken } from './agent-api.ts'

export function TokenSection({ agent }: { agent: WebAgentDetail['agent'] }) {
  const [asked, setAsked] = useState<'gateway' | 'platform' | null>(null)
  const asking = useMutation({ mutationFn: () => getToken(agent.id), gcTime: 0 })
  const close = () => setAsked(null)
  const replace = useReplacement(() => {
    close()
    asking.reset()
  })
  const dialog = { isPending: replace.isPending, error: replace.error, onClose: close }
  return (
    <Section title="Gateway token" lead="Programs use this token to send requests to the agent. Keep it secret.">
      <ErrorNotice error={asking.error} />
      {replace.isSuccess && asked === null && <Notice tone="good">{replace.data}</Notice>}
      {asking.data !== undefined && (
        <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all select-all">
          {asking.data}
        </code>
      )}
      <div className="flex flex-wrap gap-2">
        {asking.data === undefined ? (
          <Button isPending={asking.isPending} onClick={() => asking.mutate()}>
            Show token
          </Button>
        ) : (
          <>
            <CopyButton text={asking.data} what="token" />
            <Button onClick={() => asking.reset()}>Hide token</Button>
          </>
        )}
        {!isOnOwnMachine(agent) && (
          <>
            <Button onClick={() => setAsked('gateway')}>Replace token</Button>
            <Button onClick={() => setAsked('platform')}>Replace platform token</Button>
          </>
        )}
      </div>
      {asked === 'gateway' && (
        <ConfirmDialog
          title={`Replace the token of ${agent.name}?`}
          lead="The old token stops working immediately. A running agent restarts and its current turn is lost; memory is kept."
          verb="Replace token"
          onConfirm={() => replace.mutate(() => rotateGatewayToken(agent.id).then(() => 'Token replaced.'))}
          {...dialog}
        />
      )}
      {asked === 'platform' && (
        <ConfirmDialog
          title={`Replace the platform token of ${agent.name}?`}
          lead="The agent uses this token to call models through this server. Replace it if it may have leaked. A running agent restarts and its current turn is lost."
          verb="Replace token"
          onConfirm={() => replace.mutate(() => rotatePlatformToken(agent.id).then(() => 'Platform token replaced.'))}
          {...dialog}
        />
      )}
    </Section>
  )
}

function useReplacement(onDone: () => void) {
  return useMutation({
    mutationFn: (replace: () => Promise<string>) => replace(),
    onSuccess: onDone,
    onSettled: () => refresh(agentsQuery),
  })
}
