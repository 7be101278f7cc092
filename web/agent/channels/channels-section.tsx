import { z } from 'zod'
import { ConfigRequest, type ShownConfig, type WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import { FormNotice } from '../../settings/form-notice.tsx'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { useForm } from '../../ui/form.ts'
import { Notice } from '../../ui/notice.tsx'
import { Section } from '../../ui/section.tsx'
import { SecretSetting } from '../secret-setting.tsx'
import { fieldOfConfig, useChangeConfig } from '../use-config.ts'

type ChannelsSectionProps = { agent: WebAgent; config: ShownConfig }

/** An empty field removes the setting. */
const PeopleForm = z.object({
  telegramUserId: z
    .string()
    .transform((text): string | number | null | undefined => text.trim() || null)
    .pipe(ConfigRequest.shape.telegramUserId),
  ownerIds: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .transform((ids): ConfigRequest['ownerIds'] => (ids.length > 0 ? ids : null))
    .pipe(ConfigRequest.shape.ownerIds),
})

export function ChannelsSection({ agent, config }: ChannelsSectionProps) {
  const { secrets, webhookUrl } = config
  return (
    <Section title="Other channels" lead="Tokens are encrypted and never shown again.">
      <SecretSetting
        agent={agent}
        name="whatsappToken"
        label="WhatsApp token"
        isSet={secrets.whatsappToken}
        hint="Used by OpenClaw agents only"
      />
      <SecretSetting
        agent={agent}
        name="webhookUrl"
        label="Webhook for other agents"
        isSet={secrets.webhookUrl}
        hint={
          webhookUrl
            ? `Messages from other agents are also sent to ${webhookUrl}.`
            : 'Messages from other agents are also sent to this URL.'
        }
      />
      <People agent={agent} config={config} />
    </Section>
  )
}

function People({ agent, config }: ChannelsSectionProps) {
  const change = useChangeConfig(agent.id)
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    PeopleForm,
    change,
    fieldOfConfig(['telegramUserId', 'ownerIds']),
  )
  return (
    <form
      ref={formRef}
      onSubmit={onSubmit}
      noValidate
      className="grid max-w-md grid-cols-1 gap-4 border-t border-line pt-4"
    >
      <h3 className="text-sm font-semibold">Allowed senders</h3>
      <FormNotice problem={problem} />
      {isDone && <Notice tone="good">Saved.</Notice>}
      <TextField
        label="Telegram user ID"
        name="telegramUserId"
        autoComplete="off"
        maxLength={100}
        defaultValue={config.telegramUserId ?? ''}
        error={problem?.fields.telegramUserId}
      />
      <TextField
        label="Owner IDs"
        name="ownerIds"
        autoComplete="off"
        defaultValue={config.ownerIds?.join(', ') ?? ''}
        hint="Separated by commas."
        error={problem?.fields.ownerIds}
      />
      <Button type="submit" className="justify-self-start" isPending={isPending}>
        Save senders
      </Button>
    </form>
  )
}
