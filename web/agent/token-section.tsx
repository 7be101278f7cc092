import { useMutation } from '@tanstack/react-query'
import type { WebAgent } from '../../src/features/agents/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { getToken } from './agent-api.ts'

/** The token of the agent's gateway, asked for only when somebody wants to see it. */
export function TokenSection({ agent }: { agent: WebAgent }) {
  const asking = useMutation({ mutationFn: () => getToken(agent.id), gcTime: 0 })
  return (
    <Section
      title="Gateway token"
      lead="With it, programs speak to this agent at its address. Keep it like a password."
    >
      {asking.isError && <Notice tone="problem">{messageFor(asking.error)}</Notice>}
      {asking.data === undefined ? (
        <Button className="justify-self-start" isPending={asking.isPending} onClick={() => asking.mutate()}>
          Show token
        </Button>
      ) : (
        <>
          <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all select-all">
            {asking.data}
          </code>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={asking.data} what="the token" />
            <Button onClick={() => asking.reset()}>Hide token</Button>
          </div>
        </>
      )}
    </Section>
  )
}
