import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { listZones, ownZone } from '../schedule/zones.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { FormNotice } from './form-notice.tsx'
import { patchSettings } from './settings-api.ts'

const TimeZoneForm = z.object({ timeZone: z.string() })

export function TimeZoneSection({ settings }: { settings: Settings }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    TimeZoneForm,
    async (change) => void (await patchSettings(client, change)),
    () => null,
  )
  const current = settings.timeZone ?? ownZone()
  return (
    <Section title="Time zone" lead="Used for phrases such as “tomorrow at nine” and as the default for new schedules.">
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
        <FormNotice problem={problem} />
        {isDone && <Notice tone="good">Time zone saved.</Notice>}
        <SelectField label="Time zone" name="timeZone" defaultValue={current}>
          {listZones(current).map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </SelectField>
        <Button type="submit" className="justify-self-start" isPending={isPending}>
          Save time zone
        </Button>
      </form>
    </Section>
  )
}
