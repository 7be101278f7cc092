import { useMutation, useQuery } from '@tanstack/react-query'
import { type SyntheticEvent, useState } from 'react'
import { ChangeNoticeSettings, type NoticeSettings } from '../../src/features/accounts/notifications/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { ErrorNotice, Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { KINDS } from './descriptions.ts'
import { changeNoticeSettings, noticeSettingsQuery, testChannel } from './notifications-api.ts'

const REMINDERS = [
  { minutes: '', label: 'Never' },
  { minutes: '30', label: 'After 30 minutes' },
  { minutes: '120', label: 'After 2 hours' },
  { minutes: '1440', label: 'After 1 day' },
] as const

export function PreferencesSection() {
  const query = useQuery(noticeSettingsQuery)
  return (
    <Section
      title="Preferences"
      lead={query.data?.mail.available === false ? 'Email is not configured on this server.' : undefined}
      actions={query.data?.mail.available && <MailTest />}
    >
      <Loaded query={query} what="notification settings" placeholder={<Skeleton className="h-64" />}>
        {(settings) => <WishesForm settings={settings} />}
      </Loaded>
    </Section>
  )
}

function MailTest() {
  const trial = useMutation({ mutationFn: () => testChannel('mail') })
  return (
    <>
      <Button isPending={trial.isPending} onClick={() => trial.mutate()}>
        Send test email
      </Button>
      {trial.data?.delivered && <Notice tone="good">Test email sent. Check your inbox.</Notice>}
      {trial.data?.delivered === false && (
        <Notice tone="problem" title="Could not send the test email">
          <p className="wrap-anywhere">{trial.data.error}</p>
        </Notice>
      )}
      <ErrorNotice error={trial.error} />
    </>
  )
}

function WishesForm({ settings }: { settings: NoticeSettings }) {
  const [problem, setProblem] = useState<string | null>(null)
  const saving = useMutation({
    mutationFn: changeNoticeSettings,
    onSuccess: (saved) => queryClient.setQueryData(noticeSettingsQuery.queryKey, saved),
  })
  const onSubmit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault()
    const wish = ChangeNoticeSettings.safeParse(readForm(new FormData(event.currentTarget)))
    setProblem(wish.success ? null : (wish.error.issues[0]?.message ?? 'Please check the fields.'))
    if (wish.success) saving.mutate(wish.data)
  }
  const { mail, quietHours, resendMinutes } = settings
  const isOwnChoice = resendMinutes !== null && !REMINDERS.some(({ minutes }) => minutes === String(resendMinutes))
  return (
    <form onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-5">
      {(problem ?? saving.error) && <Notice tone="problem">{problem ?? messageFor(saving.error)}</Notice>}
      {saving.isSuccess && <Notice tone="good">Preferences saved.</Notice>}
      <fieldset className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <legend className="mb-2 text-sm font-medium">By email</legend>
        {KINDS.map(({ kind, label, hint }) => (
          <CheckField
            key={kind}
            name="mailKinds"
            value={kind}
            label={label}
            hint={hint}
            defaultChecked={mail.kinds.includes(kind)}
          />
        ))}
      </fieldset>
      <fieldset className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <legend className="mb-2 text-sm font-medium">Quiet hours</legend>
        <TextField label="From" name="from" type="time" defaultValue={quietHours?.from ?? ''} />
        <TextField label="To" name="to" type="time" defaultValue={quietHours?.to ?? ''} />
        <TextField
          label="Time zone"
          name="timeZone"
          defaultValue={quietHours?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone}
        />
      </fieldset>
      <SelectField
        label="Remind me about ongoing problems"
        name="resendMinutes"
        defaultValue={resendMinutes === null ? '' : String(resendMinutes)}
      >
        {isOwnChoice && <option value={resendMinutes}>After {resendMinutes} minutes</option>}
        {REMINDERS.map(({ minutes, label }) => (
          <option key={minutes} value={minutes}>
            {label}
          </option>
        ))}
      </SelectField>
      <Button type="submit" className="justify-self-start" isPending={saving.isPending}>
        Save
      </Button>
    </form>
  )
}

/** Quiet hours without times are turned off. */
function readForm(form: FormData): unknown {
  const text = (name: string) => String(form.get(name) ?? '')
  const [from, to, minutes] = [text('from'), text('to'), text('resendMinutes')]
  return {
    mailKinds: form.getAll('mailKinds'),
    quietHours: from === '' && to === '' ? null : { from, to, timeZone: text('timeZone') },
    resendMinutes: minutes === '' ? null : Number(minutes),
  }
}
