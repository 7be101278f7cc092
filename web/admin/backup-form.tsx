import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { BackupOverview } from '../../src/features/admin/backups/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { FormButtons } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { setBackups } from './backups-api.ts'

/** An empty field means the default. */
const orDefault = z
  .string()
  .trim()
  .transform((text) => text || null)
  .optional()
const BackupFields = z.object({ schedule: orDefault, to: orDefault, keep: orDefault })

/** Omits settings that the environment fixes. */
export function BackupForm({ overview, onClose }: { overview: BackupOverview; onClose: () => void }) {
  const client = useQueryClient()
  const { fixed, schedule, to, keep } = overview
  const { formRef, problem, isPending, onSubmit } = useForm(
    BackupFields,
    async (fields) => {
      const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      await setBackups(client, body)
      onClose()
    },
    () => null,
  )
  const hint = (isFixed: boolean, variable: string, text: string) =>
    isFixed ? `Set by ${variable} in the environment.` : text
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
      <FormNotice problem={problem} />
      <TextField
        label="Schedule"
        name="schedule"
        autoComplete="off"
        disabled={fixed.schedule}
        defaultValue={schedule ? `${schedule.cron} ${schedule.timeZone}` : ''}
        hint={hint(
          fixed.schedule,
          'BACKUP_SCHEDULE',
          'Cron expression and time zone, for example 0 3 * * * Europe/Berlin. Leave empty to turn automatic backups off.',
        )}
      />
      <TextField
        label="Location"
        name="to"
        autoComplete="off"
        disabled={fixed.to}
        defaultValue={to}
        hint={hint(
          fixed.to,
          'BACKUP_TO',
          'Absolute path of a folder, or s3://bucket/prefix. It is tested when you save.',
        )}
      />
      <TextField
        label="Retention"
        name="keep"
        autoComplete="off"
        disabled={fixed.keep}
        defaultValue={`${keep.days}d ${keep.weeks}w ${keep.months}m`}
        hint={hint(fixed.keep, 'BACKUP_KEEP', 'Daily, weekly and monthly backups to keep, for example 7d 4w 6m.')}
      />
      <FormButtons verb="Save" isPending={isPending} onCancel={onClose} />
    </form>
  )
}
