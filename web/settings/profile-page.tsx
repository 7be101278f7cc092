import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { EmailSection } from './email-section.tsx'
import { FormNotice } from './form-notice.tsx'
import { patchSettings } from './settings-api.ts'
import { SettingsFrame, WithSettings } from './settings-frame.tsx'
import { StorageSection } from './storage-section.tsx'
import { TimeZoneSection } from './time-zone-section.tsx'

const NameForm = z.object({ name: z.string().trim().min(1).max(100, 'Name must be at most 100 characters') })

/** Page `/settings`. */
export function ProfilePage() {
  return (
    <SettingsFrame title="Profile" lead="Your name and email on this server">
      <WithSettings>
        {(settings) => (
          <>
            <NameSection settings={settings} />
            <EmailSection settings={settings} />
            <TimeZoneSection settings={settings} />
            <StorageSection storage={settings.storage} />
          </>
        )}
      </WithSettings>
    </SettingsFrame>
  )
}

function NameSection({ settings }: { settings: Settings }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    NameForm,
    async (change) => void (await patchSettings(client, change)),
    (error) => (error instanceof ApiError && error.status === 400 ? 'name' : null),
  )
  return (
    <Section title="Name">
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
        <FormNotice problem={problem} />
        {isDone && <Notice tone="good">Name saved.</Notice>}
        <TextField
          label="Name"
          name="name"
          autoComplete="name"
          maxLength={100}
          defaultValue={settings.name}
          hint="Only you can see it."
          error={problem?.fields.name}
        />
        <Button type="submit" className="justify-self-start" isPending={isPending}>
          Save name
        </Button>
      </form>
    </Section>
  )
}
