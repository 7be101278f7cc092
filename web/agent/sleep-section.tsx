import { useMutation } from '@tanstack/react-query'
import type { ShownConfig, WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { messageFor } from '../api/request.ts'
import { CheckField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { useChangeConfig } from './use-config.ts'

/** Whether the agent is ended while nobody needs it. */
export function SleepSection({ agent, config }: { agent: WebAgent; config: ShownConfig }) {
  const changeConfig = useChangeConfig(agent.id)
  const change = useMutation({ mutationFn: (neverSleeps: boolean) => changeConfig({ neverSleeps }) })
  return (
    <Section
      title="Sleep"
      lead="An agent that nobody has needed for a while sleeps, and whatever addresses it wakes it within a second or two."
    >
      {change.error && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      <CheckField
        label="Never sleep"
        hint="It runs on, and answers the first word without waking."
        checked={config.neverSleeps ?? false}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.checked)}
      />
    </Section>
  )
}
