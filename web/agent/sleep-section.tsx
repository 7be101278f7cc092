import { useMutation } from '@tanstack/react-query'
import type { ShownConfig, WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { messageFor } from '../api/request.ts'
import { CheckField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { useChangeConfig } from './use-config.ts'

export function SleepSection({ agent, config }: { agent: WebAgent; config: ShownConfig }) {
  const changeConfig = useChangeConfig(agent.id)
  const change = useMutation({ mutationFn: (neverSleeps: boolean) => changeConfig({ neverSleeps }) })
  return (
    <Section title="Sleep" lead="Idle agents sleep and wake within two seconds when something reaches them.">
      {change.error && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      <CheckField
        label="Never sleep"
        hint="Always on: answers without a wake-up delay."
        checked={config.neverSleeps ?? false}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.checked)}
      />
    </Section>
  )
}
