import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { CreateChannelRequest } from '../../src/features/accounts/notices/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { type FormProblem, useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { createChannel, noticeChannelsQuery } from './notices-api.ts'

type Kind = CreateChannelRequest['kind']

const NAMES: Readonly<Record<Kind, string>> = {
  telegram: 'Telegram',
  discord: 'Discord',
  ntfy: 'ntfy',
  webhook: 'Webhook',
}

/** Shows a webhook's secret until the next channel is added. */
export function ChannelForm() {
  const client = useQueryClient()
  const [kind, setKind] = useState<Kind>('telegram')
  const [secret, setSecret] = useState<string | null>(null)
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    CreateChannelRequest,
    async (wish) => {
      const created = await createChannel(wish)
      setSecret(created.secret)
      formRef.current?.reset()
      setKind('telegram')
      await client.invalidateQueries({ queryKey: noticeChannelsQuery.queryKey })
    },
    () => null,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {isDone && (
        <Notice tone="good" title="Channel added">
          {secret && (
            <>
              <p>Use this secret to verify webhook requests. It is shown only once.</p>
              <div className="flex flex-wrap items-center gap-2">
                <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">
                  {secret}
                </code>
                <CopyButton text={secret} what="secret" />
              </div>
            </>
          )}
        </Notice>
      )}
      <SelectField label="Type" name="kind" value={kind} onChange={(event) => setKind(toKind(event.target.value))}>
        {Object.entries(NAMES).map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <RecipientFields kind={kind} problem={problem} />
      <Button type="submit" look="primary" className="justify-self-start" isPending={isPending}>
        Test and add
      </Button>
    </form>
  )
}

function RecipientFields({ kind, problem }: { kind: Kind; problem: FormProblem | null }) {
  const field = (name: string) => ({ name, autoComplete: 'off', error: problem?.fields[name] })
  switch (kind) {
    case 'telegram':
      return (
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <PasswordField label="Bot token" {...field('botToken')} hint="From @BotFather." />
          <TextField
            label="Chat ID"
            {...field('chatId')}
            hint="Your own ID, or the ID of a group that includes the bot."
          />
        </div>
      )
    case 'discord':
      return (
        <PasswordField
          label="Webhook URL"
          {...field('url')}
          hint="In Discord: Channel settings → Integrations → Webhooks."
        />
      )
    case 'ntfy':
      return (
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <TextField label="Server" {...field('server')} defaultValue="https://ntfy.sh" />
          <TextField
            label="Topic"
            {...field('topic')}
            hint="Anyone who knows the topic can read it. Make it hard to guess."
          />
        </div>
      )
    case 'webhook':
      return <PasswordField label="URL" {...field('url')} hint="Receives JSON signed according to Standard Webhooks." />
  }
}

function toKind(value: string): Kind {
  return CreateChannelRequest.options.map(({ shape }) => shape.kind.value).find((kind) => kind === value) ?? 'telegram'
}
